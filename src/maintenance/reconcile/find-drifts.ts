import { UNKNOWN_CUSTOMER } from '../../core/customer.ts';
import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { effectOf } from '../../core/transition.ts';
import type { Query } from '../../postgres/database.ts';
import { readProductNames } from '../../queries/products.ts';
import { readCustomers } from '../../queries/subscriptions.ts';
import { type LinkedTeam, lockFreeTeams } from '../../queries/teams.ts';
import { type Drift, driftOf } from './drift.ts';
import type { ReconcileOptions } from './options.ts';

type FindOptions = Pick<ReconcileOptions, 'database' | 'nameOf' | 'planSelection'>;

/**
 * Compares teams with what the rule makes of what Stripe lists of their customers. What differs is
 * compared once more under the lock of the team: an event may have come between reading the one and
 * reading the other. Whoever holds a team is changing it now, so that there is nothing to tell.
 */
export async function findDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: FindOptions,
): Promise<Drift[]> {
  const { database } = options;
  const names = await namesOf(listed, options);
  const found = await compare(database.query, teams);
  if (found.length === 0) return [];
  return await database.transaction(async (query) => {
    const customerIds = found.map(({ team }) => team.customerId);
    const free = await lockFreeTeams(query, customerIds);
    const foundIds = new Set(found.map(({ team }) => team.id));
    return await compare(
      query,
      free.teams.filter(({ id }) => foundIds.has(id)),
    );
  });

  async function compare(query: Query, some: readonly LinkedTeam[]): Promise<Drift[]> {
    const customerIds = some.map(({ customerId }) => customerId);
    const { customers, names: ours } = await readCustomers(query, customerIds);
    const all = new Map([...ours, ...names]);
    const listedOf = byCustomer(listed);
    return some.flatMap((team) => {
      const { customerId } = team;
      const known = customers.get(customerId) ?? UNKNOWN_CUSTOMER;
      const shown = listedOf.get(customerId) ?? [];
      const drift = driftOf(team, known, shown, {
        planSelection: options.planSelection,
        names: all,
      });
      return drift === null ? [] : [drift];
    });
  }
}

function byCustomer(listed: readonly ListedSubscription[]): Map<string, ListedSubscription[]> {
  const listedOf = new Map<string, ListedSubscription[]>();
  for (const one of listed) {
    listedOf.set(one.customerId, [...(listedOf.get(one.customerId) ?? []), one]);
  }
  return listedOf;
}

/** The names of the products that are listed: from our table, and otherwise from Stripe. */
async function namesOf(
  listed: readonly ListedSubscription[],
  { database, nameOf }: FindOptions,
): Promise<Map<string, string>> {
  const granted = listed.filter(({ status }) => effectOf(status) === 'grants');
  const productIds = [...new Set(granted.flatMap(({ productId }) => productId ?? []))];
  const names = await readProductNames(database.query, productIds);
  for (const productId of productIds) {
    const name = names.get(productId) ?? (await nameOf(productId));
    if (name !== null) names.set(productId, name);
  }
  return names;
}
