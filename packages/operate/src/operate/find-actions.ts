// Reads the audit, with the action that reverses each one.

import {
  type ApplicationId,
  type ApplicationTables,
  idFrom,
  type NamedStatement,
  PLAN_CHANGE_COLUMNS,
  type Query,
  rowsOf,
} from 'instep-engine/postgres';
import type { Plan } from 'instep-engine/rule';
import { type PageEnds, type PageStart, readPage } from '../runtime/pages.ts';
import { parseSubject } from '../teams/subject.ts';
import type { ActionRequest } from './actions.ts';
import { isCallId, type OperatorAction } from './audit.ts';
import type { OperateContext, OperatorAccess, Search } from './context.ts';

/** A change of a team's plan by an action; `null`: the team had or has no plan. */
export type ActionChange = {
  readonly id: number;
  readonly teamId: ApplicationId;
  readonly before: Plan | null;
  readonly after: Plan | null;
};

/** An action in the audit. */
export type RecordedAction = OperatorAction & {
  readonly id: number;
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

async function readRecorded(query: Query, statement: NamedStatement): Promise<RecordedAction[]> {
  const stored = await query<Stored>(statement);
  return stored.map((action) => ({ ...action, reverse: reverseOf(action) }));
}

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

/** SQL that selects recorded actions. Conditions on `acted`, the stored rows, follow it. */
const SELECT_ACTIONS = (tables: ApplicationTables) => `
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
        from instep.operator_actions as acted
        left join ${tables.teams.rows} as teams
          on starts_with(subject, 'team:')
         and teams.id = ${idFrom(tables.teams.idType, "substr(subject, length('team:') + 1)")}
        left join instep.events
          on starts_with(subject, 'event:')
         and position = ${idFrom('bigint', "substr(subject, length('event:') + 1)")}`;

/** The newest first. */
const READ_ACTIONS = (tables: ApplicationTables) => `
      ${SELECT_ACTIONS(tables)}
       where ($1::bigint is null or acted.id < $1)
         and ($3::text is null or operator = $3)
         and ($4::uuid is null or form_id = $4)
       order by acted.id desc
       limit $2`;

/** Back from an action to the newer ones. */
const READ_NEWER_ACTIONS = (tables: ApplicationTables) => `
      ${SELECT_ACTIONS(tables)}
       where acted.id > $1
         and ($3::text is null or operator = $3)
         and ($4::uuid is null or form_id = $4)
       order by acted.id
       limit $2`;

const READ_ACTIONS_WITH_IDS = (tables: ApplicationTables) => `
      ${SELECT_ACTIONS(tables)}
       where acted.id = any ($1::bigint[])`;

/** These actions, by their ids. */
export async function readActionsWithIds(
  query: Query,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RecordedAction>> {
  if (ids.length === 0) return new Map();
  const statement = { name: 'read_actions_with_ids', text: READ_ACTIONS_WITH_IDS, values: [ids] };
  return new Map((await readRecorded(query, statement)).map((action) => [action.id, action]));
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
  { callId, operator }: ActionFilter = {},
): Search<RecordedAction, PageOfActions, PageStart<number>> {
  const isNone = callId !== undefined && !isCallId(callId);
  const filter = [operator ?? null, callId ?? null];
  async function read(from: number | null, isBackwards: boolean, limit: number) {
    const statement =
      isBackwards && from !== null
        ? { name: 'read_newer_actions', text: READ_NEWER_ACTIONS }
        : { name: 'read_actions', text: READ_ACTIONS };
    const values = [from, limit, ...filter];
    return isNone ? [] : await readRecorded(query, { ...statement, values });
  }
  return {
    async page({ start = null, limit = 50 } = {}) {
      const { found: actions, ...ends } = await readPage<RecordedAction, number>({
        ...{ start, limit, clockMs },
        keyOf: ({ id }) => id,
        read: async (...part) => ({ found: await read(...part), examinedTo: null }),
      });
      return { actions, ...ends };
    },
    all: () =>
      rowsOf<RecordedAction, number>(async (after) => {
        const found = await read(after, false, READ_AT_ONCE);
        const last = found.length < READ_AT_ONCE ? undefined : found.at(-1);
        return { found, examinedTo: last?.id ?? null };
      }),
  };
}
