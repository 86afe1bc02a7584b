import { type MadeEvent, makeSubscriptionEvent } from '../../testing/subscription-event.ts';

/** What Stripe's stand-in sells, to the cast and to those who live beside it. */
export const PRODUCT_NAMES = {
  prod_starter: 'Starter',
  prod_pro: 'Pro',
  prod_base: 'Base',
  prod_plus: 'Plus',
  prod_team: 'Team',
};

export type DemoEvent = ReturnType<typeof makeSubscriptionEvent>;

/** One event of the demonstration, and what a person should see in it. */
export type Scene = {
  readonly title: string;
  readonly event: DemoEvent;
  /** Signed with another secret than the server's. */
  readonly isForged?: true;
};

const UPDATED = 'customer.subscription.updated';
const DELETED = 'customer.subscription.deleted';

/** The life of a subscription, delivered as badly as the network does. */
export function demoScenes(suffix: string, startSeconds: number): Scene[] {
  const base = {
    customerId: `cus_${suffix}`,
    subscriptionId: `sub_${suffix}`,
    type: UPDATED,
    status: 'active',
    productId: 'prod_starter',
  };
  const event = (number: number, secondsLater: number, made: Partial<MadeEvent>): DemoEvent =>
    makeSubscriptionEvent({
      ...base,
      eventId: `evt_${suffix}_${number}`,
      createdSeconds: startSeconds + secondsLater,
      ...made,
    });

  const active = event(2, 20, {});
  const canceled = { type: DELETED, status: 'canceled', productId: 'prod_pro' };
  const nobody = { customerId: `cus_nobody${suffix}`, subscriptionId: `sub_nobody${suffix}` };
  return [
    { title: 'A trial begins', event: event(1, 10, { status: 'trialing' }) },
    { title: 'The customer pays', event: active },
    {
      title: 'A payment fails: past_due changes nothing',
      event: event(3, 30, { status: 'past_due' }),
    },
    { title: 'The plan changes', event: event(4, 40, { productId: 'prod_pro' }) },
    { title: 'A late duplicate of the second event', event: active },
    { title: 'An older event, delayed until now', event: event(5, 15, { status: 'unpaid' }) },
    { title: 'The customer cancels', event: event(6, 60, canceled) },
    { title: 'An event of a customer whom no team has', event: event(7, 70, nobody) },
    { title: 'A forged signature', event: event(8, 80, {}), isForged: true },
  ];
}

/** What truly happened, and when, however it is delivered. */
export function inTrueOrder(scenes: readonly Scene[]): DemoEvent[] {
  return scenes
    .filter(({ isForged }) => !isForged)
    .map(({ event }) => event)
    .sort((one, other) => one.created - other.created);
}

/** Somebody pays after a trial, and only the trial's event is ever delivered. */
export function lostPayment(customerId: string, startSeconds: number) {
  const made = { customerId, subscriptionId: `sub_${customerId.slice('cus_'.length)}` };
  const trial = makeSubscriptionEvent({
    ...made,
    eventId: `evt_${customerId}_1`,
    type: UPDATED,
    createdSeconds: startSeconds,
    status: 'trialing',
    productId: 'prod_starter',
  });
  const payment = makeSubscriptionEvent({
    ...made,
    eventId: `evt_${customerId}_2`,
    type: UPDATED,
    createdSeconds: startSeconds + 60,
    status: 'active',
    productId: 'prod_pro',
  });
  return { trial, payment };
}
