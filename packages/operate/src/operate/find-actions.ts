// Reads the audit, with the action that reverses each one.

import {
  type ApplicationId,
  type ApplicationTables,
  idFrom,
  PLAN_CHANGE_COLUMNS,
  type Query,
  rowsOf,
} from 'instep-engine/postgres';
import type { Plan } from 'instep-engine/rule';
import { type PageEnds, type PageStart, readPage } from '../runtime/pages.ts';
import { parseSubject } from '../teams/subject.ts';
import type { ActionRequest } from './actions.ts';
import type { ActionResult } from './audit.ts';
import type { OperateContext, OperatorAccess, Search } from './context.ts';

/** A change of a team's plan by an action; `null`: the team had or has no plan. */
export type ActionChange = {
  readonly id: number;
  readonly teamId: ApplicationId;
  readonly before: Plan | null;
  readonly after: Plan | null;
};

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
  readonly actedAtMicroseconds: number;
  /** The first 100 changes of plans that it made. */
  readonly changes: readonly ActionChange[];
  /** `null`: the subject is not a team, or the team is gone or has no name. */
  readonly teamName: string | null;
  /** `null`: the subject is not an event, or the event is gone or has no id. */
  readonly eventId: string | null;
  /** The action that reverses it, if nobody has changed the team since; `null`: there is none. */
  readonly reverse: ActionRequest | null;
};

type Stored = Omit<RecordedAction, 'reverse'>;

function reverseOf({ subject: text, result }: Stored): ActionRequest | null {
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

/** All that match what is given: before or after an action, by an operator, of a call, these. The nearest come first. */
const READ_ACTIONS = (tables: ApplicationTables) => `
      select acted.id, form_id as "callId", subject, action, is_done as "isDone", note, operator, operator_how as how,
             acted.outcome as result,
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
             ) as changes,
             (extract(epoch from acted_at) * 1000000)::bigint as "actedAtMicroseconds",
             teams.name as "teamName", event_id as "eventId"
        from (
               select *
                 from instep.operator_actions
                where ($2::bigint is null or id < $2)
                  and ($3::bigint is null or id > $3)
                  and ($4::text is null or operator = $4)
                  and ($5::uuid is null or form_id = $5)
                  and ($6::bigint[] is null or id = any ($6))
                order by case when $3 is null then -id else id end
                limit $1
             ) as acted
        left join ${tables.teams.rows} as teams
          on starts_with(subject, 'team:')
         and teams.id = ${idFrom(tables.teams.idType, "substr(subject, length('team:') + 1)")}
        left join instep.events
          on starts_with(subject, 'event:')
         and position = ${idFrom('bigint', "substr(subject, length('event:') + 1)")}
       order by case when $3 is null then -acted.id else acted.id end`;

type Wanted = ActionFilter & {
  readonly before?: number | null;
  readonly after?: number | null;
  readonly ids?: readonly number[];
  readonly limit: number;
};

async function readActions(query: Query, wanted: Wanted): Promise<RecordedAction[]> {
  const { limit, before, after, operator, callId, ids } = wanted;
  if (callId !== undefined && !UUID.test(callId)) return [];
  const values = [limit, before, after, operator, callId, ids].map((value) => value ?? null);
  const stored = await query<Stored>({ name: 'read_actions', text: READ_ACTIONS, values });
  return stored.map((action) => ({ ...action, reverse: reverseOf(action) }));
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** These actions, by their ids. */
export async function readActionsWithIds(
  query: Query,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RecordedAction>> {
  const found = ids.length === 0 ? [] : await readActions(query, { ids, limit: ids.length });
  return new Map(found.map((action) => [action.id, action]));
}

/** Which actions to find: all that match every given member. */
export type ActionFilter = {
  /** Only those of this operator. */
  readonly operator?: string | undefined;
  /** Only those of one call of `perform`; none for anything but a `callId`. */
  readonly callId?: string | undefined;
};

/** A page of actions. Its ends are their ids. */
export type PageOfActions = PageEnds<number> & { readonly actions: readonly RecordedAction[] };

const READ_AT_ONCE = 500;

/**
 * What operators did within the last year, newest first.
 *
 * @example
 * ```ts
 * const { actions } = await findActions(context).page({ limit: 10 });
 * for (const { action, result } of actions) console.log(action, result.code);
 * for await (const { action, subject } of findActions(context, { operator: 'user:7' }).all()) {
 *   console.log(action, subject);
 * }
 * ```
 */
export function findActions(
  { database: { query }, clockMs }: OperateContext,
  filter: ActionFilter = {},
): Search<RecordedAction, PageOfActions, PageStart<number>> {
  return {
    async page({ start = null, limit = 50 } = {}) {
      const { found: actions, ...ends } = await readPage<RecordedAction, number>({
        ...{ start, limit, clockMs },
        keyOf: ({ id }) => id,
        async read(from, isBackwards, limit) {
          const beyond = isBackwards ? { after: from } : { before: from };
          const found = await readActions(query, { ...filter, ...beyond, limit });
          return { found, examinedTo: null };
        },
      });
      return { actions, ...ends };
    },
    all: () =>
      rowsOf<RecordedAction, number>(async (before) => {
        const found = await readActions(query, { ...filter, before, limit: READ_AT_ONCE });
        const last = found.length < READ_AT_ONCE ? undefined : found.at(-1);
        return { found, examinedTo: last?.id ?? null };
      }),
  };
}
