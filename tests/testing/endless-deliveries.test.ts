import { expect, test } from 'vitest';
import {
  type EndlessDelivery,
  endlessDeliveries,
  mergeInOrder,
} from '../../src/testing/lifecycle/endless-deliveries.ts';
import { DEFAULT_FAULTS } from '../../src/testing/lifecycle/faults.ts';
import { createRandom } from '../../src/testing/random.ts';

const START_MS = Date.UTC(2025, 0, 1);
const COUNT = 500;

/** A simulated day takes a second. */
const timeScale = (atMs: number) => Math.floor(START_MS + (atMs - START_MS) / 86_400);

function firstDeliveries(seed: number): EndlessDelivery[] {
  const random = createRandom(seed);
  const lifecycles = ['cus_a', 'cus_b'].map((customerId) =>
    endlessDeliveries(
      { customerId, startMs: START_MS, timeScale, shape: 'basil', faults: DEFAULT_FAULTS },
      random,
    ),
  );
  const deliveries = mergeInOrder(lifecycles);
  return Array.from({ length: COUNT }, () => deliveries.next().value);
}

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

test.each(SEEDS)('seed %i: customers keep subscribing, on the given time scale', (seed) => {
  const deliveries = firstDeliveries(seed);
  const bodies = new Map<string, string>();
  let beforeMs = START_MS;
  for (const { atMs, body, subscription } of deliveries) {
    const { id, created, data } = JSON.parse(body);
    expect(atMs).toBeGreaterThanOrEqual(beforeMs);
    expect(created * 1_000).toBeLessThanOrEqual(atMs);
    expect(subscription.id).toBe(data.object.id);
    // An id is not reused by a later lifecycle.
    expect(bodies.get(id) ?? body).toBe(body);
    bodies.set(id, body);
    beforeMs = atMs;
  }
  const initialStates = new Set(deliveries.map(({ subscription }) => subscription.id));
  // A lifecycle has at most four subscriptions, and there are two customers.
  expect(initialStates.size).toBeGreaterThan(8);
  expect(beforeMs).toBeLessThan(START_MS + 3_600_000);
});

test('the seed determines the deliveries', () => {
  expect(firstDeliveries(7)).toEqual(firstDeliveries(7));
  expect(firstDeliveries(7)).not.toEqual(firstDeliveries(8));
});

test('the API returns the current state, not that of a late event', () => {
  const over = new Set<string>();
  for (const { body, subscription } of firstDeliveries(3)) {
    const { status } = JSON.parse(body).data.object;
    if (status === 'canceled') over.add(subscription.id);
    if (over.has(subscription.id)) expect(subscription.status).toBe('canceled');
  }
  expect(over.size).toBeGreaterThan(5);
});
