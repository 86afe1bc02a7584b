import { type MadeEvent, makeSubscriptionEvent } from '../simulation/subscription-event.ts';

export const PRODUCT_NAMES = { prod_starter: 'Starter', prod_pro: 'Pro' };

/** One event of the demonstration, and what a person should see in it. */
export type Scene = {
  readonly title: string;
  readonly body: string;
  /** Signed with another secret than the server's. */
  readonly isForged?: true;
};

const UPDATED = 'customer.subscription.updated';
const DELETED = 'customer.subscription.deleted';

/** The life of a subscription, delivered as badly as the network does. */
export function demoScenes(customerId: string, startSeconds: number): Scene[] {
  const suffix = customerId.slice(-6);
  const base = {
    customerId,
    subscriptionId: `sub_${suffix}`,
    type: UPDATED,
    status: 'active',
    productId: 'prod_starter',
  };
  const event = (number: number, secondsLater: number, made: Partial<MadeEvent>): string =>
    JSON.stringify(
      makeSubscriptionEvent({
        ...base,
        eventId: `evt_${suffix}_${number}`,
        createdSeconds: startSeconds + secondsLater,
        ...made,
      }),
    );

  const active = event(2, 20, {});
  const canceled = { type: DELETED, status: 'canceled', productId: 'prod_pro' };
  return [
    { title: 'A trial begins', body: event(1, 10, { status: 'trialing' }) },
    { title: 'The customer pays', body: active },
    {
      title: 'A payment fails: past_due changes nothing',
      body: event(3, 30, { status: 'past_due' }),
    },
    { title: 'The plan changes', body: event(4, 40, { productId: 'prod_pro' }) },
    { title: 'A late duplicate of the second event', body: active },
    { title: 'An older event, delayed until now', body: event(5, 15, { status: 'unpaid' }) },
    { title: 'The customer cancels', body: event(6, 60, canceled) },
    {
      title: 'An event of a customer whom no team has',
      body: event(7, 70, { customerId: `cus_nobody${suffix}` }),
    },
    { title: 'A forged signature', body: event(8, 80, {}), isForged: true },
  ];
}
