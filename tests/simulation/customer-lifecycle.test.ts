import { describe, expect, test } from 'vitest';
import { type History, renderHistory } from '../../simulation/lifecycle/history.ts';
import type { JsonObject } from '../../simulation/lifecycle/json.ts';
import { SHAPES } from '../../simulation/lifecycle/shapes.ts';
import { STATUSES } from '../../simulation/lifecycle/subscription.ts';
import { createWorld } from '../../simulation/world.ts';

const worlds = Array.from({ length: 200 }, (_, seed) => createWorld(seed)).flat();
const histories = worlds.map(({ lifecycle, format }) => renderHistory(lifecycle, format));

/** The subscriptions of a history after each of their events, in the true order. */
function subscriptionsOf({ events }: History): JsonObject[][] {
  const bySubscription = new Map<string, JsonObject[]>();
  for (const { subscriptionId, body } of events) {
    const before = bySubscription.get(subscriptionId) ?? [];
    bySubscription.set(subscriptionId, [...before, JSON.parse(body).data.object]);
  }
  return [...bySubscription.values()];
}

test('a canceled or expired subscription never changes again', () => {
  for (const states of histories.flatMap(subscriptionsOf)) {
    const end = states.findIndex(({ status }) =>
      ['canceled', 'incomplete_expired'].includes(String(status)),
    );
    if (end !== -1) expect(end).toBe(states.length - 1);
  }
});

describe('lifecycles are varied', () => {
  const all = histories.flatMap(subscriptionsOf).flat();

  // An event comes after a change, and no change makes a subscription incomplete.
  test.each(STATUSES.filter((status) => status !== 'incomplete'))(
    'some subscriptions are %s',
    (status) => {
      expect(all.some((subscription) => subscription.status === status)).toBe(true);
    },
  );

  test.each(SHAPES)('some events have the shape %s', (shape) => {
    expect(worlds.some(({ format }) => format.shape === shape)).toBe(true);
  });

  test('some customers have several subscriptions, and many events within a second', () => {
    expect(histories.some((history) => subscriptionsOf(history).length > 2)).toBe(true);
    const most = histories.map(({ events }) => {
      const seconds = events.map(({ createdSeconds }) => createdSeconds);
      return Math.max(0, ...seconds.map((one) => seconds.filter((other) => one === other).length));
    });
    expect(Math.max(...most)).toBeGreaterThan(4);
  });
});
