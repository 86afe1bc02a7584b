import type { Random } from '../random.ts';
import { PERIOD_SECONDS, possibleChanges, TRIAL_SECONDS } from './possible-changes.ts';
import {
  type CustomerLifecycle,
  hasEnded,
  type LifecycleChange,
  PRODUCTS,
  type Status,
  type Subscription,
} from './subscription.ts';

type LifecycleOptions = {
  readonly customerId: string;
  readonly startMs: number;
  readonly maxChanges: number;
};

const MAX_SUBSCRIPTIONS = 4;

/** Generates a customer's lifecycle: several subscriptions, one after the other and side by side. */
export function generateLifecycle(
  { customerId, startMs, maxChanges }: LifecycleOptions,
  random: Random,
): CustomerLifecycle {
  const initialStates = new Map<string, Subscription>();
  const current = new Map<string, Subscription>();
  const changes: LifecycleChange[] = [];
  // In some lifecycles most changes happen within a few seconds.
  const burstiness = random.pick([0.05, 0.2, 0.3, 0.5, 0.7]);
  let nowMs = startMs;

  function subscribe(): void {
    const subscription = newSubscription(customerId, Math.floor(nowMs / 1_000), random);
    initialStates.set(subscription.id, subscription);
    current.set(subscription.id, subscription);
  }

  subscribe();
  for (let number = 0; number < maxChanges; number += 1) {
    nowMs += pauseMs(nowMs, burstiness, random);
    const live = [...current.values()].filter((subscription) => !hasEnded(subscription.status));
    const canSubscribe = initialStates.size < MAX_SUBSCRIPTIONS;
    if (live.length === 0 && !canSubscribe) break;
    if (live.length === 0 || (canSubscribe && random.chance(0.12))) subscribe();

    const subscription = random.pick([...current.values()].filter((one) => !hasEnded(one.status)));
    const change = random.pick(possibleChanges(subscription));
    nowMs = Math.max(nowMs, (change.dueAtSeconds ?? 0) * 1_000);
    const changed = { ...subscription, ...change.apply(Math.floor(nowMs / 1_000), random) };
    current.set(subscription.id, changed);
    changes.push({ number, atMs: nowMs, subscription: changed });
  }
  return { customerId, initialStates, changes };
}

/** Several changes can happen within one second: a payment fails and is retried, a plan changes twice. */
function pauseMs(nowMs: number, burstiness: number, random: Random): number {
  if (random.chance(burstiness)) return nowMs % 1_000 < 990 ? 1 : 0;
  const seconds = random.pick([1, 1, 2, 5, 90, 3_600, 86_400, 9 * 86_400]);
  return seconds * 1_000 + random.below(50);
}

const INITIAL_STATUSES: readonly Status[] = [
  'incomplete',
  'incomplete',
  'trialing',
  'trialing',
  'active',
];

/** As at Stripe, the ids are random, so their order reveals nothing. */
function newSubscription(customerId: string, atSeconds: number, random: Random): Subscription {
  const letters = random
    .below(36 ** 4)
    .toString(36)
    .padStart(4, '0');
  const status = random.pick(INITIAL_STATUSES);
  const isTrial = status === 'trialing';
  const endSeconds = atSeconds + (isTrial ? TRIAL_SECONDS : PERIOD_SECONDS);
  return {
    id: `sub_${letters}_${customerId.slice('cus_'.length)}`,
    customerId,
    status,
    product: random.pick(PRODUCTS),
    quantity: 1,
    invoices: 1,
    paymentMethods: 0,
    startedAtSeconds: atSeconds,
    periodStartSeconds: atSeconds,
    periodEndSeconds: endSeconds,
    trialEndSeconds: isTrial ? endSeconds : null,
    cancelsAtPeriodEnd: false,
    isCollectionPaused: false,
    endedAtSeconds: null,
  };
}
