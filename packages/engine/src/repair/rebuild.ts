// Computes the states of customers, and their teams, again from the whole event log, and repairs what differs. The states
// must be what ingesting has stored, byte for byte.

import { parseLogged } from '../log/parse-logged.ts';
import type { Settle } from '../log/pipeline.ts';
import {
  EVENT_COLUMNS,
  type EventRow,
  eventsIn,
  noEvents,
  type ParseLogged,
} from '../log/read-events.ts';
import type { ApplicationId } from '../postgres/application.ts';
import type { Database, Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { type Examined, rowsOf } from '../postgres/examine.ts';
import type { StatementRunner } from '../postgres/statement.ts';
import { writeCurrentPlan } from '../postgres/statements/current-plan.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import {
  type LinkedTeam,
  lockTeam,
  readLinkedTeams,
  readTeam,
  readTeamsOf,
  type Team,
} from '../postgres/statements/teams.ts';
import { UNSETTLED_RULES } from '../rule/access-facts.ts';
import { type CustomerState, NO_STATE, type SubscriptionState } from '../rule/customer-state.ts';
import { foldAll } from '../rule/fold.ts';
import { hasPlan, isPlanOf, isSamePlan, NO_PLAN } from '../rule/plan.ts';
import type { ActingOperator } from '../rule/plan-change.ts';
import { type PlanInRow, partOf } from '../rule/plan-fields.ts';
import { type PlanSelection, teamPlan } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { readState, writeState } from '../rule/state-json.ts';
import { readPrunedBefore } from './prune.ts';

type RebuildOptions = {
  planSelection: PlanSelection;
  settle: Settle;
  teamId?: ApplicationId | undefined;
  isDryRun: boolean;
  /** The operator who asked for it, for the history of changes. */
  operator?: ActingOperator | null;
  onFailure?: (failure: RebuildFailure) => void;
};

/** The database refused a plan, or another transaction has locked a team, or one has events that hit a bug. */
export type RebuildFailure = { readonly customerId: string; readonly error: Error };

/** What a team has and what its events yield, or stored states that differ from the events. */
export type Difference = {
  readonly teamId: ApplicationId;
  readonly customerId: string;
  readonly is: PlanInRow;
  readonly shouldBe: PlanInRow;
  /** Whether the row is kept, because the application wrote it and Stripe was not asked. */
  readonly isKept: boolean;
  /** The subscriptions whose stored state differs from the log. */
  readonly subscriptionIds: readonly (string | null)[];
};

const DEADLINE_MS = 10_000;

/**
 * Replays the whole event log, team by team, and yields and repairs every difference. It can run at any time: a state is
 * only replaced if no event was ingested meanwhile. One that can't be repaired delays no other. Rows that differ from what
 * Instep last wrote, such as a plan without any event, are reported and kept: only Stripe can tell whether they are right.
 * Plans that the application gave away are not even reported.
 */
export async function* rebuild(
  database: Database,
  options: RebuildOptions,
): AsyncGenerator<Difference> {
  const read = (afterId: ApplicationId | null) => readTeams(database.query, afterId, options);
  for await (const { customerId } of rowsOf(read)) {
    if (customerId === null) continue;
    try {
      yield* await rebuildCustomer(database, customerId, options);
    } catch (error) {
      if (options.onFailure === undefined || !canOthersSucceed(error)) throw error;
      options.onFailure({ customerId, error });
    }
  }
}

async function readTeams(
  query: Query,
  afterId: ApplicationId | null,
  { teamId }: RebuildOptions,
): Promise<Examined<Team>> {
  if (teamId === undefined) return await readLinkedTeams(query, afterId);
  const team = await readTeam(query, teamId);
  return { found: team === null ? [] : [team], examinedTo: null };
}

async function rebuildCustomer(
  database: Database,
  customerId: string,
  { planSelection, settle, isDryRun, operator = null }: RebuildOptions,
): Promise<Difference[]> {
  const { query } = database;
  const { stored, fromLog, subscriptionIds } = await rebuildState(customerId, {
    ...{ database, planSelection, isDryRun, parse: parseLogged, deadlineMs: DEADLINE_MS },
    prunedBeforeMs: await readPrunedBefore(query),
  });
  if (!isDryRun && subscriptionIds.length > 0) await settle(customerId);
  const names = await readProductNames(query, productsOf(fromLog));
  const plan = teamPlan(fromLog, planSelection, names);
  const differences: Difference[] = [];
  for (const team of await readTeamsOf(query, [customerId])) {
    const { id: teamId, plan: is } = team;
    const writers = [stored, fromLog].map((state) => planWriterOf(is, state));
    const isGivenAway = writers.every((writer) => writer === 'app');
    const shouldBe = isGivenAway ? is : planIn(is, plan);
    const isSame = isSamePlan(is, shouldBe);
    const isKept = !isSame && (plan === null || writers[0] !== 'instep');
    if (!isSame || (subscriptionIds.length > 0 && (plan !== null || isGivenAway))) {
      differences.push({ teamId, customerId, is, shouldBe, isKept, subscriptionIds });
    }
    if (!isDryRun && !isSame && !isKept) {
      await writePlan(database, team, { planSelection, operator });
    }
  }
  return differences;
}

/** The plan that a row should have. Without a known one, it has none. */
function planIn(is: PlanInRow, plan: ReturnType<typeof teamPlan>): PlanInRow {
  if (plan === null) return hasPlan(is) ? partOf(NO_PLAN, is) : is;
  return isPlanOf(is, plan) ? is : partOf(plan, is);
}

/** Writes the plan that a team has now, unless it was changed meanwhile. */
async function writePlan(
  database: Database,
  { id, customerId, plan }: LinkedTeam,
  options: { planSelection: PlanSelection; operator: ActingOperator | null },
): Promise<void> {
  await database.transaction(async (query) => {
    const locked = await lockTeam(query, id, 'no key update');
    if (locked?.customerId !== customerId || !isSamePlan(locked.plan, plan)) return;
    await writeCurrentPlan(query, locked, { ...options, isForced: true, cause: 'rebuild' });
  });
}

function productsOf({ subscriptions }: CustomerState): string[] {
  return [...subscriptions.values()].flatMap(
    ({ deciding }) => deciding?.reported.plan.providerProductId ?? [],
  );
}

type StateOptions = {
  readonly database: StatementRunner;
  readonly parse: ParseLogged;
  readonly planSelection: PlanSelection;
  readonly deadlineMs: number;
  /** Events received before this time can be gone from the log; `null`: none are. */
  readonly prunedBeforeMs: number | null;
  /** Whether only to report. */
  readonly isDryRun: boolean;
};

/**
 * Stores the state that the log yields, if it differs and no event was ingested meanwhile. `settle` then projects it.
 * Returns the subscriptions whose stored state differs.
 *
 * @throws StateNewer
 */
export async function rebuildState(
  customerId: string,
  { database, parse, planSelection, deadlineMs, prunedBeforeMs, isDryRun }: StateOptions,
) {
  type StateRow = { readonly version: string; readonly subscriptions: string };
  const [row] = await database.run<StateRow>(readStoredState(customerId), deadlineMs);
  const rows = await database.run<EventRow>(readEventsOfCustomer(customerId), deadlineMs);
  const { known } = eventsIn(rows, parse).get(customerId) ?? noEvents();
  const stored = row === undefined ? NO_STATE : readState(row.subscriptions);
  const fromLog = withoutPruned(foldAll(known.all(), planSelection), stored, prunedBeforeMs);
  const ids = new Set([...stored.subscriptions.keys(), ...fromLog.subscriptions.keys()]);
  const subscriptionIds = [...ids].filter((id) => textOf(stored, id) !== textOf(fromLog, id));
  if (!isDryRun && subscriptionIds.length > 0) {
    const statement = repairState(customerId, row?.version ?? '0', writeState(fromLog));
    await database.run(statement, deadlineMs);
  }
  return { stored, fromLog, subscriptionIds };
}

function textOf({ subscriptions }: CustomerState, id: string | null): string {
  const state = subscriptions.get(id);
  if (state === undefined) return '';
  return writeState({ subscriptions: new Map([[id, state]]), hasDropped: false });
}

/** The event with which a status began can have been pruned, and an older one not. */
function withoutPruned(
  fromLog: CustomerState,
  stored: CustomerState,
  prunedBeforeMs: number | null,
): CustomerState {
  if (prunedBeforeMs === null) return fromLog;
  const subscriptions = [...fromLog.subscriptions].map(
    ([id, state]): [string | null, SubscriptionState] => {
      const known = stored.subscriptions.get(id)?.latest;
      const { latest } = state;
      const isSame = known?.reported.status === latest.reported.status;
      const canBePruned = latest.sinceSeconds * 1_000 < prunedBeforeMs;
      if (known === undefined || !isSame || !canBePruned) return [id, state];
      const { sinceSeconds, otherStatusSeconds } = known;
      return [id, { ...state, latest: { ...latest, sinceSeconds, otherStatusSeconds } }];
    },
  );
  return { ...fromLog, subscriptions: new Map(subscriptions) };
}

const readStoredState = (customerId: string) => ({
  name: 'read_stored_state',
  text: `
select version::text, subscriptions::text
  from instep.customers
 where customer_id = $1`,
  values: [customerId],
});

/** In the order of arrival. */
const readEventsOfCustomer = (customerId: string) => ({
  name: 'read_events_of_customer',
  text: `
select${EVENT_COLUMNS}
  from instep.events
 where customer_id = $1
   and outcome <> 'unreadable'
 order by position`,
  values: [customerId],
});

/** The other columns follow from the state: `settle` writes them, also after a crash, because of the rules. */
const repairState = (customerId: string, version: string, state: string) => ({
  name: 'repair_state',
  text: `
insert into instep.customers (
         customer_id, version, subscriptions, subscription_ids, access_rules, grants_plan, had_team
       )
select $1, $2::bigint + 1, $3::json, '{}', '${UNSETTLED_RULES}', false, false
    on conflict (customer_id) do update
   set version = excluded.version,
       subscriptions = excluded.subscriptions,
       access_rules = excluded.access_rules
 where customers.version = $2::bigint`,
  values: [customerId, version, state],
});
