import {
  type Customer,
  isSameState,
  type SubscriptionState,
  UNKNOWN_CUSTOMER,
} from '../core/customer.ts';
import { follow } from '../core/follow.ts';
import { type PlanSelection, teamPlan } from '../core/plan-selection.ts';
import { isSamePlan, type TeamPlan } from '../core/transition.ts';
import { SameSecondEvents } from '../ingest/same-second-events.ts';
import type { Database, Query } from '../postgres/database.ts';
import { readEventsOfCustomer } from '../queries/events.ts';
import { readProductNames } from '../queries/products.ts';
import { readCustomers, writeSubscriptions } from '../queries/subscriptions.ts';
import { type LinkedTeam, lockTeams, readLinkedTeams, writePlans } from '../queries/teams.ts';
import { changeOf } from '../stripe/logged-event.ts';

export type RebuildOptions = {
  readonly planSelection: PlanSelection;
  /** Only this team. */
  readonly teamId?: number | undefined;
  /** Shows the differences, and leaves them. */
  readonly isDryRun: boolean;
};

/** What a team has, and what its events make of it; or states that are not as the events say. */
export type Difference = {
  readonly teamId: number;
  readonly customerId: string;
  readonly is: TeamPlan;
  readonly shouldBe: TeamPlan;
  /** The subscriptions whose remembered state is not what the log says. */
  readonly subscriptionIds: readonly (string | null)[];
};

const PAGE = 500;

/**
 * Folds the log anew, team by team, and shows and repairs every difference. Each team is locked
 * meanwhile, so that it may run at any time. Teams of which no event has come are left alone.
 */
export async function* rebuild(
  database: Database,
  options: RebuildOptions,
): AsyncGenerator<Difference> {
  let afterId = 0;
  for (;;) {
    const page = await readLinkedTeams(database.query, { afterId, limit: PAGE, ...options });
    for (const { customerId } of page) {
      yield* await database.transaction((query) => rebuildCustomer(query, customerId, options));
    }
    const last = page.at(-1);
    if (last === undefined) return;
    afterId = last.id;
  }
}

async function rebuildCustomer(
  query: Query,
  customerId: string,
  { planSelection, isDryRun }: RebuildOptions,
): Promise<Difference[]> {
  const teams = await lockTeams(query, [customerId]);
  const customer = await fold(query, customerId, planSelection);
  const { customers, names: knownNames } = await readCustomers(query, [customerId]);
  const before = customers.get(customerId) ?? UNKNOWN_CUSTOMER;
  const productIds = [...customer.values()].flatMap(({ newest }) => newest.productId ?? []);
  const names = new Map([...knownNames, ...(await readProductNames(query, productIds))]);
  const plan = teamPlan(customer, planSelection, names);
  if (plan === null) return [];

  const states = [...customer.values()].filter(
    (state) => !isSameState(state, before.get(state.newest.subscriptionId)),
  );
  const differences = teams.flatMap((team) => difference(team, plan, states));
  if (!isDryRun && differences.length > 0) {
    if (states.length > 0) await writeSubscriptions(query, states);
    await writePlans(query, new Map(teams.map(({ id }) => [id, plan])));
  }
  return differences;
}

async function fold(
  query: Query,
  customerId: string,
  planSelection: PlanSelection,
): Promise<Customer> {
  const seconds = new SameSecondEvents([]);
  let customer = UNKNOWN_CUSTOMER;
  for (const row of await readEventsOfCustomer(query, customerId)) {
    const caused = changeOf(row);
    if (caused === null) continue;
    const second = seconds.with({ ...caused, key: row.key }).map((entry) => entry.change);
    customer = follow(customer, caused, second, planSelection).customer;
  }
  return customer;
}

function difference(
  team: LinkedTeam,
  shouldBe: TeamPlan,
  states: readonly SubscriptionState[],
): Difference[] {
  const { id: teamId, customerId, plan: is } = team;
  if (isSamePlan(is, shouldBe) && states.length === 0) return [];
  const subscriptionIds = states.map(({ newest }) => newest.subscriptionId);
  return [{ teamId, customerId, is, shouldBe, subscriptionIds }];
}
