import type { CustomerLifecycle, Subscription } from './subscription.ts';

/** Maps times of a lifecycle to other times, in the same order: a month can pass in a minute. */
export type TimeScale = (atMs: number) => number;

/** The same lifecycle at other times. */
export function scaleTime(lifecycle: CustomerLifecycle, scale: TimeScale): CustomerLifecycle {
  const { customerId, initialStates, changes } = lifecycle;
  return {
    customerId,
    initialStates: new Map(
      [...initialStates].map(([id, subscription]) => [id, scaleSubscription(subscription, scale)]),
    ),
    changes: changes.map((change) => ({
      ...change,
      atMs: scale(change.atMs),
      subscription: scaleSubscription(change.subscription, scale),
    })),
  };
}

function scaleSubscription(subscription: Subscription, scale: TimeScale): Subscription {
  const scaled = (atSeconds: number) => Math.floor(scale(atSeconds * 1_000) / 1_000);
  const { trialEndSeconds, endedAtSeconds } = subscription;
  return {
    ...subscription,
    startedAtSeconds: scaled(subscription.startedAtSeconds),
    periodStartSeconds: scaled(subscription.periodStartSeconds),
    periodEndSeconds: scaled(subscription.periodEndSeconds),
    trialEndSeconds: trialEndSeconds === null ? null : scaled(trialEndSeconds),
    endedAtSeconds: endedAtSeconds === null ? null : scaled(endedAtSeconds),
  };
}
