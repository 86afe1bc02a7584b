import type { CustomerLife, Subscription } from './subscription.ts';

/** Tells by another clock what time it is. Both are in milliseconds since 1970; it never goes back. */
export type Clock = (atMs: number) => number;

/** The same life by another clock: a month may pass within a minute. */
export function atPace(life: CustomerLife, clock: Clock): CustomerLife {
  return {
    customerId: life.customerId,
    begun: new Map([...life.begun].map(([id, subscription]) => [id, paced(subscription, clock)])),
    moments: life.moments.map((moment) => ({
      ...moment,
      atMs: clock(moment.atMs),
      subscription: paced(moment.subscription, clock),
    })),
  };
}

function paced(subscription: Subscription, clock: Clock): Subscription {
  const second = (atSeconds: number) => Math.floor(clock(atSeconds * 1_000) / 1_000);
  const { trialEndSeconds, endedAtSeconds } = subscription;
  return {
    ...subscription,
    startedAtSeconds: second(subscription.startedAtSeconds),
    periodStartSeconds: second(subscription.periodStartSeconds),
    periodEndSeconds: second(subscription.periodEndSeconds),
    trialEndSeconds: trialEndSeconds === null ? null : second(trialEndSeconds),
    endedAtSeconds: endedAtSeconds === null ? null : second(endedAtSeconds),
  };
}
