// Reads the audit, with the action that reverses each one.

import {
  type ApplicationTables,
  idFrom,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
} from 'instep-engine/postgres';
import { type Direction, type Search, searchOf } from '../runtime/pages.ts';
import { parseSubject } from '../teams/subject.ts';
import type { ActionRequest } from './actions.ts';
import type { ActionResult } from './audit.ts';
import type { OperatorAccess, ReadContext } from './context.ts';

/** A change of a team's plan by an action. */
export type ActionChange = Pick<PlanChange, 'id' | 'teamId' | 'before' | 'after'>;

/** An action in the audit. */
export type RecordedAction = {
  readonly id: number;
  /** Such as `team:1`, `customer:cus_1`, `event:1` or `consumer:mailer`; `teams:all` or `events:all`. */
  readonly subject: string;
  /** One of `ACTIONS`, or for example `reconcile`, `sync` or `redact`. */
  readonly action: string;
  readonly isDone: boolean;
  readonly result: ActionResult;
  /** The same for all actions of one call of `perform`. */
  readonly callId: string;
  readonly note: string | null;
  /** Who acted, and through which program. */
  readonly operator: string;
  readonly how: OperatorAccess;
  readonly actedAtMs: number;
  /** The first 100 changes of plans that it made. */
  readonly changes: readonly ActionChange[];
  /** `null`: the subject is not a team, or the team is gone or has no name. */
  readonly teamName: string | null;
  /** The action that reverses it, if nobody has changed the team since; `null`: there is none. */
  readonly reverse: ActionRequest<'link' | 'unlink' | 'restore'> | null;
};

type Stored = Omit<RecordedAction, 'reverse'>;

function reverseOf({
  subject: text,
  result,
}: Stored): ActionRequest<'link' | 'unlink' | 'restore'> | null {
  const subject = parseSubject(text);
  if (subject === null) return null;
  switch (result.code) {
    case 'linked': {
      const { teamId, customerId, former } = result;
      // It had the customer already.
      if (former === customerId) return null;
      const team = { kind: 'team', id: String(teamId) } as const;
      const reverse = { subject: team, expectedCustomerId: customerId };
      return former === null
        ? { action: 'unlink', ...reverse }
        : { action: 'link', ...reverse, linkTo: former };
    }
    case 'unlinked':
      return { action: 'link', subject, linkTo: result.customerId, expectedCustomerId: null };
    case 'dismissed':
      return { action: 'restore', subject };
    default:
      return null;
  }
}

/** A rebuild can make as many as there are teams. */
const MAX_CHANGES = 100;

/** Which actions to find: all that match every given member. */
export type ActionFilter = {
  /** Only those of this operator. */
  readonly operator?: string | undefined;
  /** Only those of one call of `perform`; none for anything but a `callId`. */
  readonly callId?: string | undefined;
  /** Only these. */
  readonly ids?: readonly number[] | undefined;
};

/**
 * What operators did within the last year, newest first.
 *
 * @example
 * ```ts
 * const { rows } = await findActions(context).page({ limit: 10 });
 * for (const { action, result } of rows) console.log(action, result.code);
 * for await (const { action, subject } of findActions(context, { operator: 'user:7' }).all()) {
 *   console.log(action, subject);
 * }
 * ```
 */
export function findActions(
  { database: { query } }: ReadContext,
  { operator, callId, ids }: ActionFilter = {},
): Search<RecordedAction, number> {
  return searchOf<Stored, RecordedAction, number>(query, {
    name: 'find_actions',
    text: FIND_ACTIONS,
    values: ({ from, limit }) => [from, limit, operator ?? null, callId ?? null, ids ?? null],
    isDescending: true,
    keyOf: ({ id }) => id,
    complete: (rows) => rows.map((action) => ({ ...action, reverse: reverseOf(action) })),
  });
}

/** All that match what is given: by an operator, of a call, these. */
const FIND_ACTIONS = (tables: ApplicationTables, { beyond, order }: Direction) => `
      select acted.id,
             form_id as "callId",
             subject,
             action,
             is_done as "isDone",
             note,
             operator,
             operator_how as how,
             acted.outcome as result,
             (extract(epoch from acted_at) * 1000)::bigint as "actedAtMs",
             teams.name as "teamName",
             (
               select coalesce(
                        jsonb_agg(
                          jsonb_build_object('id', id, 'teamId', "teamId", 'before', before, 'after', after)
                          order by id
                        ),
                        '[]'
                      )
                 from (
                        select ${PLAN_CHANGE_COLUMNS(tables)}
                          from instep.plan_changes as change
                         where change.action_id = acted.id
                         order by change.id
                         limit ${MAX_CHANGES}
                      ) as changed
             ) as changes
        from (
               select *
                 from instep.operator_actions
                where ($1::bigint is null or id ${beyond} $1)
                  and ($3::text is null or operator = $3)
                  and ($4::text is null or form_id = ${idFrom('uuid', '$4')})
                  and ($5::bigint[] is null or id = any ($5))
                order by id ${order}
                limit $2
             ) as acted
        left join ${tables.teams.rows} as teams
          on starts_with(subject, 'team:')
         and teams.id = ${idFrom(tables.teams.id.type, "substr(subject, length('team:') + 1)")}
       order by acted.id ${order}`;
