import { rebuild } from '../../src/event-log/rebuild.ts';
import type { Database } from '../../src/postgres/database.ts';
import { readCustomers } from '../../src/queries/subscriptions.ts';
import { readTeam } from '../../src/queries/teams.ts';
import { auditTeam } from '../auditor.ts';
import { type Divergence, isSameTeam } from '../divergence.ts';
import type { Failure } from '../level.ts';
import type { StoreWorld } from './store-world.ts';

/**
 * Compares every team of a world with the auditor's result and with that of `instep rebuild`. Returns
 * the first customer that diverges.
 */
export async function auditWorld(
  world: StoreWorld,
  database: Database,
  drifting: ReadonlySet<string> = new Set(),
): Promise<Failure | null> {
  const { seed, round, planSelection, schedule } = world;
  for (const { customer, history, teamId } of world.customers.values()) {
    const { customerId } = customer.lifecycle;
    const divergences: Divergence[] = [];
    const expected = auditTeam(history.events, planSelection);
    const actual = (await readTeam(database.query, teamId))?.plan;
    if (!isSameTeam(expected, actual)) {
      divergences.push({ kind: 'team', customerId, expected, actual });
    }
    const { customers } = await readCustomers(database.query, [customerId]);
    const states = [...(customers.get(customerId)?.values() ?? [])];
    if (states.some(({ order }) => order === 'ambiguous')) {
      divergences.push({ kind: 'ambiguous', customerId });
    }
    if (drifting.has(customerId)) divergences.push({ kind: 'drift', customerId });
    for await (const found of rebuild(database, { planSelection, teamId, isDryRun: true })) {
      const { is, shouldBe, subscriptionIds } = found;
      divergences.push({ kind: 'rebuilt', customerId, is, shouldBe, subscriptionIds });
    }
    const concerns = (one: object) => !('customerId' in one) || one.customerId === customerId;
    const steps = schedule.steps.filter(concerns);
    if (divergences.length > 0) {
      return { seed, round, planSelection, divergences, customer, steps, isShrunk: false };
    }
  }
  return null;
}
