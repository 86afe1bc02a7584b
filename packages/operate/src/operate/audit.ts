// The shape of what operators do and of its results, and how the audit stores them.

import type { ApplicationId, Database, IssueCause, Query } from 'instep-engine/postgres';
import type { Counts } from 'instep-engine/repair';
import type { PlanInRow } from 'instep-engine/rule';
import { InstepError } from 'instep-engine/runtime';
import type { ReplayOutcomes } from '../event-log/replay.ts';
import type { NamedTeam } from '../teams/named-teams.ts';
import type { Operator } from './context.ts';

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
  /** Several have this name, or the text is a part of names. */
  | {
      readonly code: 'several-teams';
      readonly text: string;
      readonly candidates: readonly Candidate[];
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
  /** `null`: none. `former`: the plan that the team had. */
  | {
      readonly code: 'plan-set';
      readonly teamId: ApplicationId;
      readonly planName: string | null;
      readonly former: string | null;
    }
  /** A subscription decides the team's plan, or its plan was not given. */
  | { readonly code: 'subscription-decides'; readonly teamId: ApplicationId }
  /** No product has this name, and no team has had such a plan. `plans`: those that are known. */
  | { readonly code: 'unknown-plan'; readonly planName: string; readonly plans: readonly string[] }
  /** The table of teams has no column for a plan's name. */
  | { readonly code: 'no-plan-column'; readonly teamId: ApplicationId }
  | { readonly code: 'replayed'; readonly outcomes: ReplayOutcomes }
  | { readonly code: 'no-such-event'; readonly position: number }
  | { readonly code: 'in-sync' }
  /** `refusedBy`: the constraint that refuses the repair; `null`: unknown, or nothing is refused. */
  | ({ readonly code: 'out-of-sync'; readonly refusedBy: string | null } & ComparedPlans)
  | ({ readonly code: 'repaired' } & ComparedPlans)
  /** Stripe does not know it. */
  | { readonly code: 'unknown-customer'; readonly customerId: string }
  /** Hidden until it changes, or until a time. */
  | { readonly code: 'dismissed'; readonly untilMs?: number }
  | { readonly code: 'restored' }
  | ({ readonly code: 'reconciled' } & Counts)
  /** `kept`: rows that the application wrote; `failed`: customers whose teams could not be rebuilt. */
  | ({ readonly code: 'rebuilt' } & Readonly<Record<'repaired' | 'kept' | 'failed', number>>)
  | { readonly code: 'redacted'; readonly events: number }
  /** The team has what Stripe has. */
  | { readonly code: 'synced'; readonly teamId: ApplicationId }
  /** A consumer of changes gets the change again. */
  | { readonly code: 'change-replayed'; readonly changeId: number }
  /** `position`: the last change that the consumer had acknowledged. */
  | { readonly code: 'consumer-removed'; readonly position: number }
  /** The action is none for this kind of subject, or lacks its text. */
  | { readonly code: 'does-not-apply' }
  | { readonly code: 'failed'; readonly error: string };

/** A team that an entered text can mean. */
export type Candidate = Pick<NamedTeam, 'id' | 'name'> & {
  readonly planName: string | null;
};

/** What a team had and should have had. */
export type ComparedPlans = {
  readonly is: PlanInRow;
  readonly shouldBe: PlanInRow;
  readonly cause: IssueCause;
};

/** What an operator can do about a team, a customer or an event. */
export const ACTIONS = [
  /** Gives a team a customer, and the plan that the customer's events yield. */
  'link',
  /** Takes a team's customer away, and with it the plan. Linking it again undoes this. */
  'unlink',
  /** Processes an event again, or a customer's parked events. What was decided does not change. */
  'replay',
  /** Compares a team with Stripe, and asks for the order of its customer's events where that is ambiguous. */
  'compare',
  /** Compares a team with Stripe and repairs it. */
  'repair',
  /** Hides an issue until it changes. */
  'dismiss',
  'restore',
  /** Gives a team a plan without a subscription, or takes one away that was given. */
  'set-plan',
] as const;
export type Action = (typeof ACTIONS)[number];

/** An operator's action on a team, a customer or an event, and its result. */
export type OperatorAction = {
  /** Such as `team:1`, `customer:cus_1`, `event:1` or `consumer:mailer`; `teams:all` or `events:all`. */
  readonly subject: string;
  readonly action:
    | Action
    | 'reconcile'
    | 'complete-checkout'
    | 'sync'
    | 'rebuild'
    | 'redact'
    | 'replay-change'
    | 'remove-consumer';
  readonly isDone: boolean;
  readonly result: ActionResult;
};

/** What the actions of one call of `perform` have in common, such as those that a page's form asks for. */
export type Call = {
  readonly callId: string;
  readonly operator: Operator;
  readonly note?: string | null;
  /** When dismissals end; `null`: when the issue changes. */
  readonly until?: Date | null;
};

/** Longer than any id. */
const MAX_SUBJECT_LENGTH = 300;

const BEGIN_ACTIONS = `
      with forgotten as (
        delete from instep.operator_actions
         where acted_at < now() - interval '1 year'
           and (dismissed_until is null or dismissed_until < now())
      )
      insert into instep.operator_actions
             (form_id, operator, operator_how, note, subject, action, is_done, outcome, dismissed_until, acted_at)
      select $1, $2, $3, $4, left(subject, ${MAX_SUBJECT_LENGTH}), action, false, '{"code": "begun"}',
             case when action = 'dismiss' then $5::timestamptz end, clock_timestamp()
        from unnest($6::text[], $7::text[]) with ordinality as given (subject, action, number)
       order by number
      returning id`;

/**
 * Records that actions begin, before anything is changed, so that none leaves no trace even if its process is killed.
 * Returns their ids, in the same order. Deletes those older than a year.
 */
export async function beginActions(
  query: Query,
  { callId, operator, note, until }: Call,
  actions: readonly Pick<OperatorAction, 'action' | 'subject'>[],
): Promise<number[]> {
  // Such as a dry run's.
  if (actions.length === 0) return [];
  const reason = note ?? operator.reason ?? null;
  const rows = await query<{ id: number }>({
    name: 'begin_actions',
    text: BEGIN_ACTIONS,
    values: [
      ...[callId, operator.name, operator.how, reason === null ? null : storable(reason)],
      isValid(until) ? until : null,
      actions.map(({ subject }) => storable(subject)),
      actions.map(({ action }) => action),
    ],
  });
  return rows.map(({ id }) => id);
}

const isValid = (time?: Date | null) => Number.isFinite(time?.getTime());

/** Records the result of an action. What was done stays recorded if a later part of the action fails. */
export async function recordResult(
  query: Query,
  actionId: number,
  { isDone, result }: Outcome,
): Promise<void> {
  await query({
    name: 'record_result',
    text: `
      update instep.operator_actions
         set is_done              = $2,
             outcome              = $3,
             linked_team_id       = $4,
             unlinked_customer_id = $5,
             acted_at             = clock_timestamp()
       where id = $1
         and (outcome ->> 'code' = 'begun' or $3::jsonb ->> 'code' <> 'failed')`,
    values: [
      ...[actionId, isDone],
      JSON.stringify(result, (_, value) => (typeof value === 'string' ? storable(value) : value)),
      result.code === 'linked' ? String(result.teamId) : null,
      unlinkedCustomer(result),
    ],
  });
}

function unlinkedCustomer(result: ActionResult): string | null {
  if (result.code === 'unlinked') return result.customerId;
  return result.code === 'linked' && result.former !== result.customerId ? result.former : null;
}

/** What became of an action. */
export type Outcome = Pick<OperatorAction, 'isDone' | 'result'> & {
  /** What ended it, if its result is `failed`. */
  readonly error?: InstepError;
};

export const done = (result: ActionResult): Outcome => ({ isDone: true, result });
export const failed = (result: ActionResult): Outcome => ({ isDone: false, result });

/** Does an action, or its first part, in a transaction that stores the result too: without a result, nothing was done. */
export type InTransaction = (work: (query: Query) => Promise<Outcome>) => Promise<Outcome>;

/** Performs an action, and stores its result with `record`, also if it fails. */
export async function concluded(
  database: Database,
  record: (query: Query, outcome: Outcome) => Promise<void>,
  act: (inTransaction: InTransaction) => Promise<Outcome>,
): Promise<Outcome> {
  let stored: Outcome | undefined;
  const inTransaction: InTransaction = async (work) => {
    stored = await database.transaction(async (query) => {
      const outcome = await work(query);
      await record(query, outcome);
      return outcome;
    });
    return stored;
  };
  const outcome = await act(inTransaction).catch((error: unknown): Outcome => {
    if (!(error instanceof InstepError)) throw error;
    return { isDone: false, result: { code: 'failed', error: error.code }, error };
  });
  if (outcome !== stored) await record(database.query, outcome);
  return outcome;
}

/** The text without what PostgreSQL can't store: an action that is done must not be left out of the audit. */
const storable = (text: string) => text.toWellFormed().replaceAll('\0', '');

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export const isCallId = (text: string) => UUID.test(text);
