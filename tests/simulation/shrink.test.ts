import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Divergence, isSameTeam } from '../../simulation/divergence.ts';
import { expectedTeam } from '../../simulation/expected-team.ts';
import type { Failure } from '../../simulation/level.ts';
import { scheduleDeliveries } from '../../simulation/lifecycle/delivery-schedule.ts';
import { DEFAULT_FAULTS } from '../../simulation/lifecycle/faults.ts';
import { renderHistory } from '../../simulation/lifecycle/history.ts';
import { createRandom } from '../../simulation/random.ts';
import { shrinkFailure, shrinkList } from '../../simulation/shrink.ts';
import { createWorld, type SimulatedCustomer } from '../../simulation/world.ts';

test('a shrunk list fails, but not without any one of its items', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(20)),
      fc.array(fc.nat(20), { maxLength: 3 }),
      async (items, needed) => {
        const fails = async (candidate: readonly number[]) =>
          needed.every((one) => candidate.includes(one));
        fc.pre(await fails(items));
        const shrunk = await shrinkList(items, fails);
        expect([...shrunk].sort()).toEqual([...new Set(needed)].sort());
      },
    ),
  );
});

test('a case that diverges is shrunk to the fewest events and steps', async () => {
  const shrunk = await shrinkFailure(findCase(), async ({ customer }) => divergencesOf(customer));
  expect(shrunk.isShrunk).toBe(true);
  expect(shrunk.divergences).toContainEqual(expect.objectContaining({ kind: 'team' }));
  // One subscription is live, another one ends later, and the team is linked.
  expect(shrunk.customer.lifecycle.changes).toHaveLength(2);
  expect(shrunk.steps.map(({ kind }) => kind).sort()).toEqual(['deliver', 'deliver', 'link']);
});

/** Simulates a core whose plan selection differs from the expected one. */
function divergencesOf({ lifecycle, format }: SimulatedCustomer): Divergence[] {
  const { customerId, events } = renderHistory(lifecycle, format);
  const [expected, actual] = [expectedTeam(events, 'best'), expectedTeam(events, 'newest')];
  return isSameTeam(expected, actual)
    ? []
    : [{ kind: 'team', customerId, expected: [expected], actual }];
}

function findCase(): Failure {
  for (let seed = 1; ; seed += 1) {
    for (const customer of createWorld(seed)) {
      if (divergencesOf(customer).length === 0) continue;
      const { events } = renderHistory(customer.lifecycle, customer.format);
      const { steps } = scheduleDeliveries(events, DEFAULT_FAULTS, createRandom(seed));
      const planSelection = 'best';
      return { seed, planSelection, divergences: [], customer, steps, isShrunk: false };
    }
  }
}
