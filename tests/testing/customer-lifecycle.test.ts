import { describe, expect, test } from 'vitest';
import { createWorld } from '../../simulation/world.ts';
import { type History, tellLife } from '../../src/testing/lifecycle/history.ts';
import { isObject, type Json, type JsonObject } from '../../src/testing/lifecycle/json.ts';
import { SHAPES } from '../../src/testing/lifecycle/shapes.ts';

type Body = {
  readonly type: string;
  readonly created: number;
  readonly data: { readonly object: JsonObject; readonly previous_attributes?: JsonObject };
};

const worlds = Array.from({ length: 200 }, (_, seed) => createWorld(seed)).flat();
const histories = worlds.map(({ life, telling }) =>
  tellLife(life, { ...telling, namesReplaced: true }),
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

/** What a subscription was before an event: what it is, but for what the event replaced. */
function undo(after: Json, replaced: Json): Json {
  if (!isObject(replaced) || !isObject(after)) return replaced;
  const before = Object.entries(replaced).map(([name, old]) => [
    name,
    undo(after[name] ?? null, old),
  ]);
  return { ...after, ...Object.fromEntries(before) };
}

/** JSON without what is null: a member that was not there is named null. */
function withoutNull(value: Json | undefined): string {
  return JSON.stringify(value, (_, member) => {
    if (!isObject(member)) return member;
    const kept = Object.entries(member).filter(([, entry]) => entry !== null);
    return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

test('time never goes back, and the events tell whole seconds', () => {
  for (const { events } of histories) {
    for (const [index, { atMs, createdSeconds, body }] of events.entries()) {
      expect(createdSeconds).toBe(Math.floor(atMs / 1_000));
      expect(JSON.parse(body).created).toBe(createdSeconds);
      expect(atMs).toBeGreaterThanOrEqual(events[index - 1]?.atMs ?? 0);
    }
  }
});

test('what is canceled or expired stays so', () => {
  for (const told of histories.flatMap(bodies)) {
    const statuses = told.map(({ data }) => data.object.status);
    const end = statuses.findIndex((one) => one === 'canceled' || one === 'incomplete_expired');
    if (end !== -1) expect(end).toBe(statuses.length - 1);
  }
});

test('previous_attributes are the previous values, and deletions have none', () => {
  let compared = 0;
  for (const told of histories.flatMap(bodies)) {
    for (const [index, { type, data }] of told.entries()) {
      const isDeletion = type === 'customer.subscription.deleted';
      expect(data.previous_attributes === undefined).toBe(isDeletion);
      const before = told[index - 1]?.data.object;
      if (before === undefined || data.previous_attributes === undefined) continue;
      expect(Object.keys(data.previous_attributes)).not.toEqual([]);
      const undone = undo(data.object, data.previous_attributes);
      expect(withoutNull(undone)).toBe(withoutNull(before));
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(1_000);
});

test('the API shows at any time what the last event told', () => {
  for (const history of histories.slice(0, 50)) {
    for (const { subscriptionId, atMs, body } of history.events) {
      const later = history.events.filter((one) => one.subscriptionId === subscriptionId);
      const last = later.findLast((one) => one.atMs <= atMs);
      expect(history.view(subscriptionId, atMs)).toEqual(
        JSON.parse(last?.body ?? body).data.object,
      );
    }
  }
});

describe('lives differ', () => {
  const told = histories.flatMap(bodies).flat();

  test.each([
    'active',
    'trialing',
    'past_due',
    'unpaid',
    'paused',
    'canceled',
    'incomplete_expired',
  ])('%s happens', (status) => {
    expect(told.some(({ data }) => data.object.status === status)).toBe(true);
  });

  test.each(SHAPES)('the shape %s is told', (shape) => {
    expect(worlds.some(({ telling }) => telling.shape === shape)).toBe(true);
  });

  test('a customer may have several subscriptions at once, and many events within a second', () => {
    expect(histories.some((history) => bodies(history).length > 2)).toBe(true);
    const most = histories.map(({ events }) => {
      const seconds = events.map(({ createdSeconds }) => createdSeconds);
      return Math.max(0, ...seconds.map((one) => seconds.filter((other) => one === other).length));
    });
    expect(Math.max(...most)).toBeGreaterThan(4);
  });
});
