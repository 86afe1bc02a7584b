import type { ApplicationId } from '../core/application.ts';
import type { LoggedOutcome } from '../core/subscription-event.ts';
import type { TeamPlan } from '../core/transition.ts';
import type { SubjectIssueCode } from '../health/issues.ts';
import type { Query } from '../postgres/database.ts';
import { columnArrays } from '../postgres/statement.ts';
import type { IssueCause } from '../postgres/statements/issues.ts';
import { PLAN_CHANGE, readNewestChange } from '../postgres/statements/plan-changes.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';
import { InstepError, type InstepErrorCode } from '../runtime/errors.ts';
import type { OperateContext, Operator, OperatorAccess, Search } from './context.ts';
import type { NamedTeam } from './named-teams.ts';

/** What an action is about. */
export type Subject = {
  readonly kind: 'team' | 'customer' | 'subscription' | 'event';
  readonly id: string;
};

/** The text under which a subject is stored, such as `team:1`. */
export function subjectText({ kind, id }: Subject): string {
  return `${kind}:${id}`;
}

/** What an action has changed, or why it has changed nothing. */
export type ActionResult =
  /**
   * It is going on, or its process ended before it did: `changes` of the record has what it has changed of plans by now.
   * Nothing else was changed, except by an action that deletes or redacts events.
   */
  | { readonly code: 'begun' }
  /**
   * `former`: the customer that the team had. `outcomes`: those of the customer's parked events; `null`: the process
   * ended before they were replayed, so maintenance does it.
   */
  | {
      readonly code: 'linked';
      readonly teamId: ApplicationId;
      readonly customerId: string;
      readonly former: string | null;
      readonly outcomes: ReplayOutcomes | null;
    }
  | {
      readonly code: 'unlinked';
      readonly teamId: ApplicationId;
      readonly customerId: string;
    }
  /** No team has this id or name. */
  | { readonly code: 'no-such-team'; readonly text: string }
  /** Several have this name, or the text is a part of names. An earlier version recorded no candidates. */
  | {
      readonly code: 'several-teams';
      readonly text: string;
      readonly candidates?: readonly Candidate[];
    }
  /** The id of a customer at Stripe begins with `cus_`. */
  | { readonly code: 'not-a-customer'; readonly text: string }
  /** `customerId`: the one that it has. */
  | {
      readonly code: 'has-another-customer';
      readonly teamId: ApplicationId;
      readonly customerId: string | null;
    }
  /** The database refused it, for example because another team has the customer. */
  | {
      readonly code: 'link-refused';
      readonly teamId: ApplicationId;
      readonly customerId: string;
    }
  | { readonly code: 'not-linked'; readonly teamId: ApplicationId }
  /** The metadata of the customer's newest event that waits for a team names none. */
  | { readonly code: 'no-suggestion' }
  | { readonly code: 'replayed'; readonly outcomes: ReplayOutcomes }
  | { readonly code: 'no-such-event'; readonly position: number }
  | { readonly code: 'in-sync' }
  /** `isDismissed`: an operator has dismissed the difference, and so no repair changes it. */
  | ({ readonly code: 'out-of-sync'; readonly isDismissed?: boolean } & ComparedPlans)
  | ({ readonly code: 'repaired' } & ComparedPlans)
  /** Stripe does not know it. */
  | { readonly code: 'unknown-customer'; readonly customerId: string }
  | { readonly code: 'unknown-subscription' }
  | { readonly code: 'order-known' | 'order-decided' }
  /** By Stripe's clock, the second of the events is not over yet. */
  | { readonly code: 'too-early' }
  /** Hidden until it changes, or until a time. `parkedEvents`: how many were dismissed. */
  | { readonly code: 'dismissed'; readonly parkedEvents: number; readonly untilMs?: number }
  | { readonly code: 'restored'; readonly parkedEvents: number }
  | ({ readonly code: 'reconciled' } & Readonly<Record<'teams' | 'drifts' | 'repaired', number>>)
  /** `kept`: rows that the application wrote; `failed`: customers whose teams could not be rebuilt. */
  | ({ readonly code: 'rebuilt' } & Readonly<Record<'repaired' | 'kept' | 'failed', number>>)
  | { readonly code: 'pruned'; readonly events: number; readonly receivedBeforeMs: number }
  | { readonly code: 'redacted'; readonly events: number }
  /** The team has a grant of this plan, and the plan itself unless a subscription grants one. */
  | { readonly code: 'granted'; readonly teamId: ApplicationId; readonly planName: string }
  | { readonly code: 'grant-revoked'; readonly teamId: ApplicationId }
  /** The team has what Stripe has. */
  | { readonly code: 'synced'; readonly teamId: ApplicationId }
  /** The note is in the record itself. */
  | { readonly code: 'noted' | 'note-removed' }
  | { readonly code: 'no-such-note' }
  /** A consumer of changes gets the change again. */
  | { readonly code: 'change-replayed'; readonly changeId: number }
  /** `position`: the last change that the consumer had acknowledged. */
  | { readonly code: 'consumer-removed'; readonly position: number }
  /** A team or a user was added by a command. */
  | { readonly code: 'added' }
  /** What a bulk action has done so far: its form has a record for each subject too. */
  | ({ readonly code: 'bulk' } & BulkProgress)
  | { readonly code: 'failed'; readonly error: InstepErrorCode }
  /** An earlier version recorded a sentence. */
  | { readonly code: 'text'; readonly text: string };

/** How far an action on all matching issues is. */
export type BulkProgress = {
  /** The issues that it is about; `null`: all. */
  readonly issue: SubjectIssueCode | null;
  /** `interrupted`: the server was stopped. What was done stays, and the rest is as it was. */
  readonly state: 'running' | 'done' | 'cancelled' | 'failed' | 'interrupted';
  /** `null`: not counted yet. */
  readonly total: number | null;
  readonly done: number;
  readonly failed: number;
  /** The number of issues to which the action does not apply. */
  readonly skipped: number;
  /** When it was written, in milliseconds since 1970. */
  readonly atMs: number;
  readonly cancelledBy?: string;
  readonly error?: InstepErrorCode;
};

/** The subject of a bulk action's own record. */
export const BULK = 'issues:all';

/** A team that an entered text can mean. */
export type Candidate = Pick<NamedTeam, 'id' | 'name'> & Pick<TeamPlan, 'planName'>;

/** What a team had and should have had. */
export type ComparedPlans = {
  readonly is: TeamPlan;
  readonly shouldBe: TeamPlan;
  readonly cause: IssueCause;
};

/** How many events had each outcome when they were replayed. */
export type ReplayOutcomes = Readonly<
  Partial<Record<LoggedOutcome | 'duplicate' | 'left out' | 'failed', number>>
>;

/** An operator's action on a team, a customer, a subscription or an event, and its result. */
export type OperatorAction = {
  /**
   * Such as `team:1`, `customer:cus_1`, `subscription:sub_1`, `event:1` or `consumer:mailer`; `teams:all`, `events:all`
   * or `issues:all`.
   */
  readonly subject: string;
  readonly action:
    | 'link'
    | 'link-suggested'
    | 'unlink'
    | 'replay'
    | 'compare'
    | 'repair'
    | 'dismiss'
    | 'restore'
    | 'reconcile'
    | 'grant'
    | 'revoke-grant'
    | 'keep-as-grant'
    | 'complete checkout'
    | 'sync'
    | 'rebuild'
    | 'prune'
    | 'redact'
    | 'note'
    | 'remove-note'
    | 'replay-change'
    | 'remove-consumer'
    | 'add';
  readonly isDone: boolean;
  readonly result: ActionResult;
};

/** What the actions of one form have in common. */
export type Form = {
  readonly formId: string;
  readonly operator: Operator;
  readonly note: string | null;
  /** When dismissals end; `null`: when the issue changes. */
  readonly until?: Date | null;
  /** The newest change of a plan before the actions: later ones that this operator made are theirs; `null`: none are. */
  readonly afterChange?: number | null;
};

/** The customer that an action is about. */
const CUSTOMER = `
        case split_part(subject, ':', 1)
          when 'customer' then substr(subject, length('customer:') + 1)
          when 'subscription' then (
            select customer_id
              from instep.subscriptions
             where subscription_id = substr(subject, length('subscription:') + 1)
             limit 1
          )
          when 'event' then (
            select customer_id
              from instep.events
             where position = ${idFrom('bigint', "substr(subject, length('event:') + 1)")}
          )
        end`;

type ChangesOf = Readonly<Record<'operator' | 'after' | 'linkedTeamId', string>> & {
  /** More conditions. */
  readonly until?: string;
};

/** SQL for the changes of plans that an operator made after one of them, of the teams that an action is about. */
const CHANGES_OF = (
  tables: ApplicationTables,
  { operator, after, linkedTeamId, until = '' }: ChangesOf,
) => `(
        select coalesce(jsonb_agg(
                 jsonb_build_object('teamId', "teamId", 'before', before, 'after', after) order by id
               ), '[]')
          from (
                 select ${PLAN_CHANGE(tables)}
                   from instep.plan_changes as change
                  where (subject = 'team:' || change.team_id
                         or change.customer_id = ${CUSTOMER}
                         or change.team_id = ${linkedTeamId})
                    and change.id > ${after}
                    and change.operator = ${operator}
                    ${until}
               ) as changed
      )`;

const OF_FORM = { operator: '$2', after: '$12', linkedTeamId: 'acted.team_id' };

const RECORD_ACTIONS = (tables: ApplicationTables) => `
      with forgotten as (
        delete from instep.operator_actions
         where acted_at < now() - interval '1 year'
           and action <> 'note'
           and (dismissed_until is null or dismissed_until < now())
      )
      insert into instep.operator_actions
             (form_id, operator, operator_how, note, subject, action, is_done, outcome,
              linked_team_id, linked_customer_id, dismissed_until, acted_at)
      select $1, $2, $3, $4, subject, action, is_done,
             outcome || jsonb_build_object('afterChange', $12::bigint) || case
               when outcome ->> 'code' = 'begun' then '{}'
               else jsonb_build_object('changes', ${CHANGES_OF(tables, OF_FORM)})
             end,
             team_id, customer_id, case when action = 'dismiss' then $11::timestamptz end, clock_timestamp()
        from unnest($5::text[], $6::text[], $7::boolean[], $8::jsonb[], $9::text[], $10::text[])
          as acted (subject, action, is_done, outcome, team_id, customer_id)
          on conflict (form_id, subject, action) do update
         set is_done            = excluded.is_done,
             outcome            = excluded.outcome,
             linked_team_id     = excluded.linked_team_id,
             linked_customer_id = excluded.linked_customer_id,
             dismissed_until    = excluded.dismissed_until,
             acted_at           = excluded.acted_at
       where operator_actions.outcome ->> 'code' = 'begun'
          or excluded.outcome ->> 'code' not in ('begun', 'failed')`;

/**
 * Records the actions of one form with the changes of plans that they made, in place of what was recorded when they
 * began. What was done stays recorded if a later part of the action fails. Deletes those older than a year, except notes.
 */
export async function recordActions(
  query: Query,
  { formId, operator, note: given, until = null, afterChange = null }: Form,
  actions: readonly OperatorAction[],
): Promise<void> {
  const note = given ?? operator.reason ?? null;
  const rows = new Map<string, RecordedRow>();
  for (const { result, subject: given, action, isDone } of actions) {
    const subject = storable(given).slice(0, MAX_SUBJECT_LENGTH);
    const { teamId, customerId } = result.code === 'linked' ? result : NOT_LINKED;
    rows.set(`${action} ${subject}`, {
      ...{ subject, action, isDone, customerId },
      outcome: JSON.stringify(result, (_, value) => (isText(value) ? storable(value) : value)),
      teamId: teamId === null ? null : String(teamId),
    });
  }
  await query({
    name: 'record_actions',
    text: RECORD_ACTIONS,
    values: [
      ...[formId, operator.name, operator.how, note === null ? null : storable(note)],
      ...columnArrays(
        [...rows.values()],
        'subject',
        'action',
        'isDone',
        'outcome',
        'teamId',
        'customerId',
      ),
      ...[until !== null && Number.isFinite(until.getTime()) ? until : null, afterChange],
    ],
  });
}

/** Longer than any id. */
const MAX_SUBJECT_LENGTH = 300;

type RecordedRow = Pick<OperatorAction, 'subject' | 'action' | 'isDone'> & {
  readonly outcome: string;
  readonly teamId: string | null;
  readonly customerId: string | null;
};

export type Recorded<Result> = Pick<OperatorAction, 'action' | 'subject'> & {
  /** The reason. */
  readonly note?: string | null;
  /** What was changed. */
  readonly resultOf: (result: Result) => ActionResult;
  /** By default, whatever returns is done. */
  readonly isDone?: (result: Result) => boolean;
};

/**
 * Records that actions begin, before anything is changed, so that none leaves no trace even if its process is killed.
 * Returns the form to record their results with.
 */
export async function beginActions(
  query: Query,
  given: Form,
  actions: readonly Pick<OperatorAction, 'action' | 'subject'>[],
): Promise<Form> {
  const form = { ...given, afterChange: await readNewestChange(query) };
  const begun = actions.map(
    (one) => ({ ...one, isDone: false, result: { code: 'begun' } }) as const,
  );
  await recordActions(query, form, begun);
  return form;
}

/** Does an action, or its first part, in a transaction that stores the result too: without a result, nothing was done. */
export type InTransaction<Result> = (work: (query: Query) => Promise<Result>) => Promise<Result>;

/** What an action does. */
export type Run<Result> = (inTransaction: InTransaction<Result>) => Promise<Result>;

type Auditing = Pick<OperateContext, 'database' | 'nonce'>;

/** Makes the call of an operator, and records it in the audit: that it begins, and its result. */
export async function recorded<Result>(
  context: Auditing,
  operator: Operator,
  action: Recorded<Result>,
  call: Run<Result>,
): Promise<Result> {
  const given = { formId: context.nonce(), operator, note: action.note ?? null };
  const form = await beginActions(context.database.query, given, [action]);
  return await concluded(context, form, action, call);
}

/** Makes the call of an action that has begun, and records its result, also if it fails. */
export async function concluded<Result>(
  { database }: Auditing,
  form: Form,
  { action, subject, resultOf, isDone = () => true }: Recorded<Result>,
  call: Run<Result>,
): Promise<Result> {
  const record = (query: Query, one: Pick<OperatorAction, 'isDone' | 'result'>) =>
    recordActions(query, form, [{ subject, action, ...one }]);
  const store = (query: Query, returned: Result) =>
    record(query, { isDone: isDone(returned), result: resultOf(returned) });
  const stored = new Set<Result>();
  const inTransaction: InTransaction<Result> = async (work) => {
    const returned = await database.transaction(async (query) => {
      const returned = await work(query);
      await store(query, returned);
      return returned;
    });
    stored.add(returned);
    return returned;
  };
  try {
    const returned = await call(inTransaction);
    if (!stored.has(returned)) await store(database.query, returned);
    return returned;
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    await record(database.query, { isDone: false, result: { code: 'failed', error: error.code } });
    throw error;
  }
}

/** The text without what PostgreSQL can't store: an action that is done must not be left out of the audit. */
const storable = (text: string) => text.toWellFormed().replaceAll('\0', '');

const isText = (value: unknown) => typeof value === 'string';

const NOT_LINKED = { teamId: null, customerId: null };

/** A change of a team's plan by an action; `null`: the team had or has no plan. */
export type ActionChange = {
  readonly teamId: ApplicationId;
  readonly before: TeamPlan | null;
  readonly after: TeamPlan | null;
};

/** An action in the audit. */
export type RecordedAction = OperatorAction & {
  /** The same for all actions of one form. */
  readonly formId: string;
  readonly note: string | null;
  /** Who acted, and through which program; `null`: an earlier version did not record it. */
  readonly operator: string | null;
  readonly how: OperatorAccess | null;
  readonly actedAtMicroseconds: number;
  /** The changes of plans that it made. */
  readonly changes: readonly ActionChange[];
  /** `null`: the subject is neither a team nor a subscription, or its team is gone or has no name. */
  readonly teamName: string | null;
  /** `null`: the subject is not an event, or the event is gone or has no id. */
  readonly eventId: string | null;
};

/** What an action without a result has changed. It takes minutes at most, and nobody repeats it meanwhile. */
const UNFINISHED = {
  operator: 'acted.operator',
  after: "(acted.outcome ->> 'afterChange')::bigint",
  linkedTeamId: 'acted.linked_team_id',
  until: `
                    and change.changed_at < acted.acted_at + interval '10 minutes'
                    and change.id < (acted.outcome ->> 'afterChange')::bigint + 10000
                    and change.id <= coalesce((
                          select min((later.outcome ->> 'afterChange')::bigint)
                            from instep.operator_actions as later
                           where later.subject = acted.subject
                             and later.acted_at > acted.acted_at
                             and later.operator = acted.operator
                        ), change.id)`,
};

const ACTIONS = (tables: ApplicationTables) => `
      select form_id as "formId", subject, action, is_done as "isDone", note, operator, operator_how as how,
             coalesce(
               acted.outcome - '{changes,afterChange}'::text[],
               jsonb_build_object('code', 'text', 'text', result)
             ) as result,
             coalesce(
               acted.outcome -> 'changes',
               case when acted.outcome ->> 'code' = 'begun' then ${CHANGES_OF(tables, UNFINISHED)} end,
               '[]'
             ) as changes,
             (extract(epoch from acted_at) * 1000000)::bigint as "actedAtMicroseconds",
             coalesce(teams.name, of_subscription.name) as "teamName", event_id as "eventId"
        from instep.operator_actions as acted
        left join ${tables.teams.rows} as teams
          on starts_with(subject, 'team:')
         and teams.id = ${idFrom(tables.teams.idType, "substr(subject, length('team:') + 1)")}
        left join lateral (
               select name
                 from instep.subscriptions
                 join ${tables.teams.rows} as owner on owner.provider_customer_id = customer_id
                where starts_with(subject, 'subscription:')
                  and subscription_id = substr(subject, length('subscription:') + 1)
                  and subscription_id <> ''
                limit 1
             ) as of_subscription on true
        left join instep.events
          on starts_with(subject, 'event:')
         and position = ${idFrom('bigint', "substr(subject, length('event:') + 1)")}`;

/** SQL for whether a record is one of the many of a bulk action, which has a record of its own. */
const IS_PART = `
         (subject <> '${BULK}' and exists (
           select from instep.operator_actions as bulk where bulk.form_id = acted.form_id and bulk.subject = '${BULK}'
         ))`;

const READ_ACTIONS_OF = (tables: ApplicationTables) => `
      ${ACTIONS(tables)}
       where form_id = $1
         and (not is_done or not ${IS_PART})
       order by subject <> '${BULK}', subject
       limit $2`;

/** More than a form without a bulk action has. */
const MAX_OF_FORM = 500;

const READ_ACTIONS = (tables: ApplicationTables) => `
      ${ACTIONS(tables)}
       where ($1::bigint is null or acted_at < timestamptz 'epoch' + $1::bigint * interval '1 microsecond')
         and ($3::text is null or operator = $3)
         and ($4 or not ${IS_PART})
       order by acted_at desc
       fetch first $2 rows with ties`;

const READ_ACTIONS_ON = (tables: ApplicationTables) => `
      ${ACTIONS(tables)}
       where (subject = any ($1::text[]) or linked_customer_id = any ($2::text[]) and linked_team_id = $3)
         and acted_at < timestamptz 'epoch' + $4::bigint * interval '1 microsecond'
         and not (is_done and action in ('grant', 'revoke-grant', 'keep-as-grant'))
       order by acted_at desc
       fetch first $5 rows with ties`;

/** The actions on a team, its customers, and other subjects of its history. */
type ActionsOnTeam = {
  readonly teamId: ApplicationId;
  readonly customerIds: readonly string[];
  readonly otherSubjects: readonly string[];
  /** Only actions before this time, in microseconds since 1970. */
  readonly before: number;
  readonly limit: number;
};

/** What operators did about a team, the newest first, except for grants, which have a record of their own. */
export async function readActionsOn(
  query: Query,
  { teamId, customerIds, otherSubjects, before, limit }: ActionsOnTeam,
): Promise<RecordedAction[]> {
  const ofCustomers = customerIds.map((id) => `customer:${id}`);
  const subjects = [`team:${teamId}`, ...ofCustomers, ...new Set(otherSubjects)];
  return await query<RecordedAction>({
    name: 'read_actions_on',
    text: READ_ACTIONS_ON,
    values: [subjects, customerIds, String(teamId), before, limit],
  });
}

/** What an operator wrote about a team. */
export type OperatorNote = {
  /** `act` removes it with this id. */
  readonly formId: string;
  readonly note: string;
  readonly operator: string;
  readonly writtenAtMs: number;
};

/** The notes about a team, the newest first. */
export async function readOperatorNotes(
  query: Query,
  teamId: ApplicationId,
): Promise<OperatorNote[]> {
  return await query<OperatorNote>({
    name: 'read_operator_notes',
    text: `
      select form_id as "formId",
             note,
             operator,
             (extract(epoch from acted_at) * 1000)::bigint as "writtenAtMs"
        from instep.operator_actions
       where subject = $1
         and action = 'note'
         and note is not null
         and is_done
       order by acted_at desc
       limit $2`,
    values: [`team:${teamId}`, MAX_NOTES],
  });
}

/** More than a team gets. */
const MAX_NOTES = 100;

/** Empties a note. That it was written, and by whom, stays in the audit. Returns whether there was one. */
export async function emptyNote(query: Query, subject: string, formId: string): Promise<boolean> {
  if (!UUID.test(formId)) return false;
  const rows = await query({
    name: 'empty_note',
    text: `
      update instep.operator_actions
         set note = null
       where form_id = $1
         and subject = $2
         and action = 'note'
         and note is not null
      returning form_id`,
    values: [formId, subject],
  });
  return rows.length > 0;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** When an operator last linked the team to the customer, in milliseconds since 1970; `null`: never. */
export async function readLinkedMs(
  query: Query,
  teamId: ApplicationId,
  customerId: string,
): Promise<number | null> {
  const [row] = await query<{ linkedMs: number | null }>({
    name: 'read_linked_ms',
    text: `
      select (extract(epoch from max(acted_at)) * 1000)::bigint as "linkedMs"
        from instep.operator_actions
       where linked_team_id = $1
         and linked_customer_id = $2`,
    values: [String(teamId), customerId],
  });
  return row?.linkedMs ?? null;
}

/** Which actions to find: all that match every given member. */
export type ActionFilter = {
  /** Only those of this operator. */
  readonly operator?: string | undefined;
  /** Only those of one call of `act`, or of one bulk action; none for anything but a `formId`. */
  readonly formId?: string | undefined;
};

export type ActionsPageRequest = {
  /** Only actions before this time, in microseconds since 1970; the newest ones by default. */
  readonly before?: number | null;
  /** 50 by default. Actions of the same moment stay together, so there can be more. */
  readonly limit?: number;
};

const EXPORT_PAGE = 500;

/**
 * What operators did within the last year, newest first. On a page, a bulk action is one of them; those that failed for
 * it are found by its `formId`. All rows have each one of a bulk action too.
 *
 * @example
 * ```ts
 * for (const { action, result } of await findActions(context).page({ limit: 10 })) {
 *   console.log(action, result.code);
 * }
 * for await (const { action, subject } of findActions(context, { operator: 'user:7' }).all()) {
 *   console.log(action, subject);
 * }
 * ```
 */
export function findActions(
  { database: { query } }: OperateContext,
  { formId, operator }: ActionFilter = {},
): Search<RecordedAction, RecordedAction[], ActionsPageRequest> {
  const ofForm = async () => {
    if (!UUID.test(formId ?? '')) return [];
    const values = [formId, MAX_OF_FORM];
    return await query<RecordedAction>({ name: 'read_actions_of', text: READ_ACTIONS_OF, values });
  };
  const read = (before: number | null, limit: number, areParts: boolean) =>
    query<RecordedAction>({
      name: 'read_actions',
      text: READ_ACTIONS,
      values: [before, limit, operator ?? null, areParts],
    });
  return {
    page: ({ before = null, limit = 50 } = {}) =>
      formId === undefined ? read(before, limit, false) : ofForm(),
    async *all() {
      if (formId !== undefined) return yield* await ofForm();
      for (let before: number | null = null; ; ) {
        const page: RecordedAction[] = await read(before, EXPORT_PAGE, true);
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < EXPORT_PAGE) return;
        before = last.actedAtMicroseconds;
      }
    },
  };
}
