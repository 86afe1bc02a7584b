import type { Random } from '../random.ts';
import { movesOf, PERIOD_SECONDS, TRIAL_SECONDS } from './possible-changes.ts';
import {
  type CustomerLife,
  isOver,
  type Moment,
  PRODUCTS,
  type Status,
  type Subscription,
} from './subscription.ts';

export type LifeOptions = {
  readonly customerId: string;
  readonly startMs: number;
  /** How many events the endpoint gets, at most. */
  readonly maxMoments: number;
};

const MAX_SUBSCRIPTIONS = 4;

/** Lives a customer's life: subscriptions one after the other, and several at once. */
export function liveCustomer(
  { customerId, startMs, maxMoments }: LifeOptions,
  random: Random,
): CustomerLife {
  const begun = new Map<string, Subscription>();
  const current = new Map<string, Subscription>();
  const moments: Moment[] = [];
  // How hurried a life is: some have most of their events within a few seconds.
  const haste = random.pick([0.05, 0.2, 0.3, 0.5, 0.7]);
  let nowMs = startMs;

  function begin(): void {
    const subscription = newSubscription(customerId, Math.floor(nowMs / 1_000), random);
    begun.set(subscription.id, subscription);
    current.set(subscription.id, subscription);
  }

  begin();
  for (let number = 0; number < maxMoments; number += 1) {
    nowMs += pauseMs(nowMs, haste, random);
    const alive = [...current.values()].filter((subscription) => !isOver(subscription));
    const mayBegin = begun.size < MAX_SUBSCRIPTIONS;
    if (alive.length === 0 && !mayBegin) break;
    if (alive.length === 0 || (mayBegin && random.chance(0.12))) begin();

    const subscription = random.pick([...current.values()].filter((one) => !isOver(one)));
    const move = random.pick(movesOf(subscription));
    nowMs = Math.max(nowMs, (move.dueAtSeconds ?? 0) * 1_000);
    const changed = { ...subscription, ...move.apply(Math.floor(nowMs / 1_000), random) };
    current.set(subscription.id, changed);
    const isDeletion = move.isDeletion ?? false;
    moments.push({ number, atMs: nowMs, subscription: changed, isDeletion });
  }
  return { customerId, begun, moments };
}

/** Much happens within one second: a payment fails and is tried again, a plan changes twice. */
function pauseMs(nowMs: number, haste: number, random: Random): number {
  if (random.chance(haste)) return nowMs % 1_000 < 990 ? 1 : 0;
  const seconds = random.pick([1, 1, 2, 5, 90, 3_600, 86_400, 9 * 86_400]);
  return seconds * 1_000 + random.below(50);
}

/** Ids as the provider makes them: nothing follows from their order. */
function newSubscription(customerId: string, atSeconds: number, random: Random): Subscription {
  const letters = random
    .below(36 ** 4)
    .toString(36)
    .padStart(4, '0');
  const status: Status = random.pick([
    'incomplete',
    'incomplete',
    'trialing',
    'trialing',
    'active',
  ]);
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
