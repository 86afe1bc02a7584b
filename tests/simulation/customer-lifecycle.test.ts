import { describe, expect, test } from 'vitest';
import { type History, renderHistory } from '../../simulation/lifecycle/history.ts';
import { isObject, type Json, type JsonObject } from '../../simulation/lifecycle/json.ts';
import { SHAPES } from '../../simulation/lifecycle/shapes.ts';
import { STATUSES } from '../../simulation/lifecycle/subscription.ts';
import { createWorld } from '../../simulation/world.ts';

type Body = {
  readonly type: string;
  readonly created: number;
  readonly data: { readonly object: JsonObject; readonly previous_attributes?: JsonObject };
};

const worlds = Array.from({ length: 200 }, (_, seed) => createWorld(seed)).flat();
const histories = worlds.map(({ lifecycle, format }) =>
  renderHistory(lifecycle, { ...format, hasPreviousAttributes: true }),
);

/** The bodies of a history by subscription, in the true order. */
function bodies({ events }: History): Body[][] {
  const bySubscription = new Map<string, Body[]>();
  for (const { subscriptionId, body } of events) {
    const before = bySubscription.get(subscriptionId) ?? [];
    bySubscription.set(subscriptionId, [...before, JSON.parse(body)]);
  }
  return [...bySubscription.values()];
}

/** The subscription before an event: its state after the event, with the replaced values restored. */
function undo(after: Json, replaced: Json): Json {
  if (!isObject(replaced) || !isObject(after)) return replaced;
  const before = Object.entries(replaced).map(([name, old]) => [
    name,
    undo(after[name] ?? null, old),
  ]);
  return { ...after, ...Object.fromEntries(before) };
}

/** JSON without null members, because `previous_attributes` has null for absent members. */
function withoutNull(value: Json | undefined): string {
  return JSON.stringify(value, (_, member) => {
    if (!isObject(member)) return member;
    const kept = Object.entries(member).filter(([, entry]) => entry !== null);
    return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

test('time never goes backward, and events have whole seconds', () => {
  for (const { events } of histories) {
    for (const [index, { atMs, createdSeconds, body }] of events.entries()) {
      expect(createdSeconds).toBe(Math.floor(atMs / 1_000));
      expect(JSON.parse(body).created).toBe(createdSeconds);
      expect(atMs).toBeGreaterThanOrEqual(events[index - 1]?.atMs ?? 0);
    }
  }
});

test('a canceled or expired subscription never changes again', () => {
  for (const bodiesOfOne of histories.flatMap(bodies)) {
    const statuses = bodiesOfOne.map(({ data }) => data.object.status);
    const end = statuses.findIndex((one) => one === 'canceled' || one === 'incomplete_expired');
    if (end !== -1) expect(end).toBe(statuses.length - 1);
  }
});

test('previous_attributes hold the previous values, and deletions have none', () => {
  let compared = 0;
  for (const bodiesOfOne of histories.flatMap(bodies)) {
    for (const [index, { type, data }] of bodiesOfOne.entries()) {
      const isDeletion = type === 'customer.subscription.deleted';
      expect(data.previous_attributes === undefined).toBe(isDeletion);
      const before = bodiesOfOne[index - 1]?.data.object;
      if (before === undefined || data.previous_attributes === undefined) continue;
      expect(Object.keys(data.previous_attributes)).not.toEqual([]);
      const undone = undo(data.object, data.previous_attributes);
      expect(withoutNull(undone)).toBe(withoutNull(before));
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(1_000);
});

test('the API returns the state of the last event at any time', () => {
  for (const history of histories.slice(0, 50)) {
    for (const { subscriptionId, atMs, body } of history.events) {
      const later = history.events.filter((one) => one.subscriptionId === subscriptionId);
      const last = later.findLast((one) => one.atMs <= atMs);
      expect(history.stateAt(subscriptionId, atMs)).toEqual(
        JSON.parse(last?.body ?? body).data.object,
      );
    }
  }
});

describe('lifecycles are varied', () => {
  const all = histories.flatMap(bodies).flat();

  // An event comes after a change, and no change makes a subscription incomplete.
  test.each(STATUSES.filter((status) => status !== 'incomplete'))(
    'some subscriptions are %s',
    (status) => {
      expect(all.some(({ data }) => data.object.status === status)).toBe(true);
    },
  );

  test.each(SHAPES)('some events have the shape %s', (shape) => {
    expect(worlds.some(({ format }) => format.shape === shape)).toBe(true);
  });

  test('some customers have several subscriptions, and many events within a second', () => {
    expect(histories.some((history) => bodies(history).length > 2)).toBe(true);
    const most = histories.map(({ events }) => {
      const seconds = events.map(({ createdSeconds }) => createdSeconds);
      return Math.max(0, ...seconds.map((one) => seconds.filter((other) => one === other).length));
    });
    expect(Math.max(...most)).toBeGreaterThan(4);
  });
});
