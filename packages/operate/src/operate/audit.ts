// Keeps what operators do, and what became of it. All that changes something in an operator's name goes through `recorded`.

import { type ApplicationId, type IssueCause, onlyRow, type Query } from 'instep-engine/postgres';
import type { Counts } from 'instep-engine/repair';
import type { ActingOperator, PlanInRow } from 'instep-engine/rule';
import { InstepError } from 'instep-engine/runtime';
import type { ReplayOutcomes } from '../event-log/replay.ts';
import type { NamedTeam } from '../teams/named-teams.ts';
import type { OperateContext, Operator } from './context.ts';

/** What an action has changed, or why it has changed nothing. */
export type ActionResult =
  /**
   * It is going on, or its process ended before it did: `changes` of the record has what it has changed of plans by now.
   * Nothing else was changed, except by an action that deletes or redacts events.
   */
  | { readonly code: 'begun' }
  /** What was asked for. */
  | { readonly code: 'done' }
  /** `former`: the customer that the team had. */
  | {
      readonly code: 'linked';
      readonly teamId: ApplicationId;
      readonly customerId: string;
      readonly former: string | null;
    }
  | { readonly code: 'unlinked'; readonly teamId: ApplicationId; readonly customerId: string }
  /** No team has this id or name. */
  | { readonly code: 'no-such-team'; readonly text: string }
  /** Several have this name, or the text is a part of names. */
  | {
      readonly code: 'several-teams';
      readonly text: string;
      readonly candidates: readonly Candidate[];
    }
  /** `customerId`: the one that it has; `null`: none. */
  | {
      readonly code: 'has-another-customer';
      readonly teamId: ApplicationId;
      readonly customerId: string | null;
    }
  /** The database refused it, for example because another team has the customer. */
  | { readonly code: 'link-refused'; readonly teamId: ApplicationId; readonly customerId: string }
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
  | { readonly code: 'replayed'; readonly outcomes: ReplayOutcomes }
  | { readonly code: 'in-sync' }
  /** `refusedBy`: the constraint that refuses the repair; `null`: unknown, or nothing is refused. */
  | ({ readonly code: 'out-of-sync'; readonly refusedBy: string | null } & ComparedPlans)
  | ({ readonly code: 'repaired' } & ComparedPlans)
  /** Stripe does not know it. */
  | { readonly code: 'unknown-customer'; readonly customerId: string }
  /** Hidden until it changes. */
  | { readonly code: 'dismissed' }
  | { readonly code: 'restored' }
  | ({ readonly code: 'reconciled' } & Counts)
  | ({ readonly code: 'rebuilt' } & RebuildCounts)
  /** The team has what Stripe has. */
  | { readonly code: 'synced'; readonly teamId: ApplicationId }
  | { readonly code: 'redacted'; readonly events: number }
  /** There is no such action for this subject. */
  | { readonly code: 'does-not-apply' }
  | { readonly code: 'failed'; readonly error: string };

/** `failed`: customers whose teams could not be rebuilt. */
export type RebuildCounts = Readonly<Record<'repaired' | 'failed', number>>;

/** A team that an entered text can mean. */
export type Candidate = Pick<NamedTeam, 'id' | 'name'> & { readonly planName: string | null };

/** What a team had and should have had. */
export type ComparedPlans = {
  readonly is: PlanInRow;
  readonly shouldBe: PlanInRow;
  readonly cause: IssueCause;
};

/** What became of an action. */
export type Outcome<Result extends ActionResult = ActionResult> = {
  readonly isDone: boolean;
  readonly result: Result;
};

export const done = <Result extends ActionResult>(result: Result) => ({ isDone: true, result });
export const failed = <Result extends ActionResult>(result: Result) => ({ isDone: false, result });

/** What an action works with: what it changes of plans has its id. */
export type Acting = OperateContext & {
  readonly operator: ActingOperator;
  /** Does the action, or its first part, in a transaction that stores the result too: without a result, nothing was done. */
  readonly inTransaction: <Done extends Outcome>(
    work: (query: Query) => Promise<Done>,
  ) => Promise<Done>;
};

/** What is stored of an action before it begins. */
type Begun = {
  readonly operator: Operator;
  readonly action: string;
  /** Such as `team:1`, `customer:cus_1`, `event:1` or `consumer:mailer`; `teams:all` or `events:all`. */
  readonly subject: string;
  /** The same for all actions of one call. */
  readonly callId?: string;
};

/**
 * Acts in an operator's name, and records it: before anything is changed, so that it leaves a trace even if its process is
 * killed, and with its result. What a first part has done in a transaction stays recorded if a later part fails.
 *
 * @throws the errors of the database if the audit can't be written, and the error that the action ended with
 */
export async function recorded<Result extends ActionResult>(
  context: OperateContext,
  begun: Begun,
  act: (acting: Acting) => Promise<Outcome<Result>>,
): Promise<Outcome<Result>> {
  const { database } = context;
  const actionId = await begin(database.query, { callId: context.nonce(), ...begun });
  const operator = { name: begun.operator.name, actionId };
  let isStored = false;
  const store = async (outcome: Outcome, query: Query = database.query) => {
    if (!isStored) await storeResult(query, actionId, outcome);
  };
  try {
    const outcome = await act({
      ...context,
      operator,
      ingest: (events) => context.ingest(events.map((event) => ({ ...event, operator }))),
      settle: (customerId, options) => context.settle(customerId, { ...options, operator }),
      inTransaction: async (work) => {
        const outcome = await database.transaction(async (query) => {
          const outcome = await work(query);
          await store(outcome, query);
          return outcome;
        });
        isStored = true;
        return outcome;
      },
    });
    await store(outcome);
    return outcome;
  } catch (error) {
    if (error instanceof InstepError) await store(failed({ code: 'failed', error: error.code }));
    throw error;
  }
}

/** Longer than any id. */
const MAX_SUBJECT_LENGTH = 300;

/** Also deletes what is older than a year. */
const BEGIN_ACTION = `
      with forgotten as (
        delete from instep.operator_actions
         where acted_at < now() - interval '1 year'
      )
      insert into instep.operator_actions
             (form_id, operator, operator_how, note, subject, action, is_done, outcome, acted_at)
      values ($1, $2, $3, $4, left($5, ${MAX_SUBJECT_LENGTH}), $6, false, '{"code": "begun"}', clock_timestamp())
      returning id`;

async function begin(
  query: Query,
  { callId, operator: { name, how, reason }, subject, action }: Begun,
): Promise<number> {
  const { id } = await onlyRow<{ id: number }>(query, {
    name: 'begin_action',
    text: BEGIN_ACTION,
    values: [callId, name, how, reason ? storable(reason) : null, storable(subject), action],
  });
  return id;
}

/** Unless a transaction has stored it whose commit was not confirmed. */
async function storeResult(
  query: Query,
  actionId: number,
  { isDone, result }: Outcome,
): Promise<void> {
  await query({
    name: 'store_result',
    text: `
      update instep.operator_actions
         set is_done        = $2,
             outcome        = $3,
             linked_team_id = $4,
             acted_at       = clock_timestamp()
       where id = $1
         and outcome ->> 'code' = 'begun'`,
    values: [
      ...[actionId, isDone],
      JSON.stringify(result, (_, value) => (typeof value === 'string' ? storable(value) : value)),
      result.code === 'linked' ? String(result.teamId) : null,
    ],
  });
}

/** The text without what PostgreSQL can't store: an action that is done must not be left out of the audit. */
const storable = (text: string) => text.toWellFormed().replaceAll('\0', '');
