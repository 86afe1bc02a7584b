import type { Json } from 'instep/src/core/json.ts';
import { decide, type StoredState } from 'instep/src/ingest/decide.ts';
import type { ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import { makeSnapshot } from 'instep/src/stripe/subscription-snapshot.ts';
import { describe, expect, test } from 'vitest';
import { receivedEvent } from '../support/stripe/events.ts';

const CREATED = 1_700_000_000;
const team = { id: 1, customerId: 'cus_1', plan: plan('active') };

function plan(status: string) {
  return {
    providerSubscriptionId: 'sub_1',
    providerProductId: 'prod_1',
    planName: null,
    subscriptionStatus: status,
  };
}

function event(status: string): ReceivedEvent & { readonly kind: 'readable' } {
  const received = receivedEvent({ status, createdSeconds: CREATED });
  if (received.kind !== 'readable') throw new RangeError('not readable');
  return { ...received, productName: null };
}

/** Two events of one second without replaced values: the later one decides. */
const [one, other] = [event('trialing'), event('active')];

function known(events: readonly (typeof one)[]): StoredState {
  const { subscription } = other;
  return {
    teams: [team],
    decidingEvents: new Map([
      ['cus_1', new Map([['sub_1', { subscription, order: 'ambiguous' }]])],
    ]),
    latestStates: new Map(),
    logged: events.map((parsed) => ({ key: parsed.key, outcome: 'applied', parsed })),
    names: new Map(),
  };
}

function snapshotWith(seenKeys: readonly string[]): ReceivedEvent {
  const shown: Json = { id: 'sub_1', customer: 'cus_1', status: 'canceled' };
  const snapshot = makeSnapshot(shown, {
    createdSeconds: CREATED,
    seenKeys: new Set(seenKeys),
    takenAtMs: (CREATED + 10) * 1_000,
    nonce: () => 'nonce',
  });
  if (snapshot === null) throw new RangeError('unreadable');
  return { ...snapshot, receivedAtMs: 0, productName: null };
}

describe('a snapshot', () => {
  test('counts when no other event of its second has arrived', () => {
    const decision = decide([snapshotWith([one.key, other.key])], known([one, other]), 'newest');
    expect(decision.results).toEqual([{ outcome: 'applied', teamIds: [1] }]);
    expect(decision.plans.get(1)?.subscriptionStatus).toBe('canceled');
  });

  test('is outdated by an event of its tie group', () => {
    const decision = decide([snapshotWith([one.key])], known([one, other]), 'newest');
    expect(decision.results).toEqual([{ outcome: 'stale', teamIds: [1] }]);
    expect(decision.plans.size).toBe(0);
    expect(decision.outcomes.size).toBe(2);
  });
});
