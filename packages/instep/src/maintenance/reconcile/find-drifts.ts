import { NO_SUBSCRIPTIONS } from '../../core/customer.ts';
import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { effectOf } from '../../core/status.ts';
import type { Query } from '../../postgres/database.ts';
import { readProductNames } from '../../postgres/statements/products.ts';
import { readCustomers } from '../../postgres/statements/subscriptions.ts';
import { type LinkedTeam, lockAvailableTeams } from '../../postgres/statements/teams.ts';
import { type Drift, driftOf } from './drift.ts';
import type { ReconcileOptions } from './options.ts';

type FindOptions = Pick<ReconcileOptions, 'database' | 'nameOf' | 'planSelection'>;

/**
 * Compares teams with what Stripe lists for their customers. A team that differs is compared again under its
 * lock, because an event may have been applied between the reads. A locked team is being changed, so it is
 * left out.
 */
export async function findDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: FindOptions,
): Promise<Drift[]> {
  const { database, planSelection } = options;
  const names = await namesOf(listed, options);
  const listedOf = byCustomer(listed);

  async function compare(query: Query, some: readonly LinkedTeam[]): Promise<Drift[]> {
    const customerIds = some.map(({ customerId }) => customerId);
    const stored = await readCustomers(query, customerIds);
    const driftOptions = { planSelection, names: new Map([...stored.names, ...names]) };
    return some.flatMap((team) => {
      const known = stored.customers.get(team.customerId) ?? NO_SUBSCRIPTIONS;
      return driftOf(team, known, listedOf.get(team.customerId) ?? [], driftOptions) ?? [];
    });
  }

  const found = await compare(database.query, teams);
  if (found.length === 0) return [];
  const foundIds = new Set(found.map(({ team }) => team.id));
  return await database.transaction(async (query) => {
    const customerIds = found.map(({ team }) => team.customerId);
    const available = await lockAvailableTeams(query, customerIds);
    return await compare(
      query,
      available.teams.filter(({ id }) => foundIds.has(id)),
    );
  });
}

function byCustomer(listed: readonly ListedSubscription[]): Map<string, ListedSubscription[]> {
  const listedOf = new Map<string, ListedSubscription[]>();
  for (const one of listed) {
    listedOf.set(one.customerId, [...(listedOf.get(one.customerId) ?? []), one]);
  }
  return listedOf;
}

/** The names of the listed products, from our table or from Stripe. */
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
