import { readProductNames } from '../../store/products.ts';
import { readCustomers } from '../../store/subscriptions.ts';
import type { LinkedTeam } from '../../store/teams.ts';
import type { ListedSubscription } from '../../stripe/listed-subscription.ts';
import { UNKNOWN_CUSTOMER } from '../../subscriptions/customer.ts';
import { effectOf } from '../../subscriptions/transition.ts';
import { type Drift, driftOf } from './drift.ts';
import type { ReconcileOptions } from './options.ts';

/** Compares teams with what the rule makes of what Stripe lists of their customers. */
export async function findDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: Pick<ReconcileOptions, 'database' | 'nameOf' | 'choice'>,
): Promise<Drift[]> {
  const customerIds = teams.map(({ customerId }) => customerId);
  const { query } = options.database;
  const [{ customers, names: ours }, told] = await Promise.all([
    readCustomers(query, customerIds),
    namesOf(listed, options),
  ]);
  const names = new Map([...ours, ...told]);
  const listedOf = new Map<string, ListedSubscription[]>();
  for (const one of listed) {
    listedOf.set(one.customerId, [...(listedOf.get(one.customerId) ?? []), one]);
  }
  return teams.flatMap((team) => {
    const { customerId } = team;
    const known = customers.get(customerId) ?? UNKNOWN_CUSTOMER;
    const drift = driftOf(team, known, listedOf.get(customerId) ?? [], { ...options, names });
    return drift === null ? [] : [drift];
  });
}

/** The names of the products that are listed: from our table, and otherwise from Stripe. */
async function namesOf(
  listed: readonly ListedSubscription[],
  { database, nameOf }: Pick<ReconcileOptions, 'database' | 'nameOf'>,
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
