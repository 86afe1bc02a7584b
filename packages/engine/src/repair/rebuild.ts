// Folds the whole event log again, and lets `settle` store and project the states that differ. They must be what ingesting
// has stored, byte for byte.

import type { Settle } from '../log/pipeline.ts';
import { EVENT_COLUMNS, type EventTextRow, eventsIn, noEvents } from '../log/read-events.ts';
import type { ApplicationId } from '../postgres/application.ts';
import type { Database, Query } from '../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../postgres/errors.ts';
import { type Examined, rowsOf } from '../postgres/examine.ts';
import type { StatementRunner } from '../postgres/statement.ts';
import { productsOf } from '../postgres/statements/customers.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import { readLinkedTeams, readTeam, readTeamsOf, type Team } from '../postgres/statements/teams.ts';
import { type CustomerState, NO_STATE } from '../rule/customer-state.ts';
import { foldAll } from '../rule/fold.ts';
import { isPlanOf } from '../rule/plan.ts';
import { type PlanInRow, partOf } from '../rule/plan-fields.ts';
import { type PlanSelection, teamPlan } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { readState, writeState } from '../rule/state-json.ts';

type RebuildOptions = {
  planSelection: PlanSelection;
  settle: Settle;
  teamId?: ApplicationId | undefined;
  isDryRun: boolean;
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
  /** The subscriptions whose stored state differs from the log. */
  readonly subscriptionIds: readonly (string | null)[];
};

const DEADLINE_MS = 10_000;

/**
 * Folds the whole event log again, team by team, and yields and repairs every difference. It can run at any time: a state is
 * only replaced if no event was ingested meanwhile. One that can't be repaired delays no other. Rows that differ from what
 * Instep last wrote, such as a plan without any event, are left alone: only Stripe can tell whether they are right.
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
  { planSelection, settle, isDryRun }: RebuildOptions,
): Promise<Difference[]> {
  const { query } = database;
  const folding = { database, deadlineMs: DEADLINE_MS };
  const { stored, rebuilt, subscriptionIds } = await foldLog(customerId, folding);
  const names = await readProductNames(query, productsOf(rebuilt.state));
  const plan = teamPlan(rebuilt.state, planSelection, names);
  const isReplaced = (is: PlanInRow) => plan !== null && planWriterOf(is, stored) === 'instep';
  const differences = (await readTeamsOf(query, [customerId])).flatMap(({ id, plan: is }) => {
    const isRight = plan === null || !isReplaced(is) || isPlanOf(is, plan);
    if (isRight && subscriptionIds.length === 0) return [];
    const shouldBe = isRight ? is : partOf(plan, is);
    return { teamId: id, customerId, is, shouldBe, subscriptionIds };
  });
  if (isDryRun || differences.length === 0) return differences;
  if (!(await settle(customerId, { cause: 'rebuild', rebuilt, names, isReplaced }))) {
    throw new DatabaseBusy('a team of the customer is locked, or an event has just arrived');
  }
  return differences;
}

type FoldOptions = {
  readonly database: StatementRunner;
  readonly deadlineMs: number;
};

/**
 * The state of a customer that is stored, the one that the log yields, and the subscriptions in which they differ.
 *
 * @throws StateNewer
 */
export async function foldLog(customerId: string, { database, deadlineMs }: FoldOptions) {
  type StateRow = { readonly version: string; readonly subscriptions: string };
  const [row] = await database.run<StateRow>(readStoredState(customerId), deadlineMs);
  const rows = await database.run<EventTextRow>(readEventsOfCustomer(customerId), deadlineMs);
  const { known } = eventsIn(rows).get(customerId) ?? noEvents();
  const stored = row === undefined ? NO_STATE : readState(row.subscriptions);
  const state = foldAll(known.all());
  const ids = new Set([...stored.subscriptions.keys(), ...state.subscriptions.keys()]);
  const subscriptionIds = [...ids].filter((id) => textOf(stored, id) !== textOf(state, id));
  return { stored, rebuilt: { version: Number(row?.version ?? 0), state }, subscriptionIds };
}

function textOf({ subscriptions }: CustomerState, id: string | null): string {
  const state = subscriptions.get(id);
  if (state === undefined) return '';
  return writeState({ subscriptions: new Map([[id, state]]), hasDropped: false });
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
