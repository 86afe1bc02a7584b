import {
  createSubscriptionEvent,
  type SubscriptionEvent,
  type SubscriptionEventFields,
} from '../../testing/stripe-objects.ts';

/** The products of the demo. */
export const PRODUCT_NAMES = {
  prod_starter: 'Starter',
  prod_pro: 'Pro',
  prod_base: 'Base',
  prod_plus: 'Plus',
  prod_team: 'Team',
};

/** One event of the walkthrough, with a title that says what to look for. */
type Scene = {
  title: string;
  event: SubscriptionEvent;
  /** Signed with a secret that the server doesn't have. */
  isForged?: true;
};

/** The lifecycle of a subscription, with the delivery faults of real networks. */
export function walkthrough(suffix: string, startSeconds: number): Scene[] {
  const event = (
    number: number,
    secondsLater: number,
    fields: Partial<SubscriptionEventFields> = {},
  ): SubscriptionEvent =>
    createSubscriptionEvent({
      customerId: `cus_${suffix}`,
      subscriptionId: `sub_${suffix}`,
      productId: 'prod_starter',
      eventId: `evt_${suffix}_${number}`,
      createdSeconds: startSeconds + secondsLater,
      ...fields,
    });

  const payment = event(2, 20);
  const unknown = { customerId: `cus_unknown${suffix}`, subscriptionId: `sub_unknown${suffix}` };
  return [
    { title: 'A trial begins', event: event(1, 10, { status: 'trialing' }) },
    { title: 'The customer pays', event: payment },
    {
      title: 'A payment fails: past_due changes nothing',
      event: event(3, 30, { status: 'past_due' }),
    },
    { title: 'The plan changes', event: event(4, 40, { productId: 'prod_pro' }) },
    { title: 'A late duplicate of the second event', event: payment },
    { title: 'An older event that was delayed', event: event(5, 15, { status: 'unpaid' }) },
    {
      title: 'The customer cancels',
      event: event(6, 60, { status: 'canceled', productId: 'prod_pro' }),
    },
    { title: 'An event for a customer without a team', event: event(7, 70, unknown) },
    { title: 'A forged signature', event: event(8, 80), isForged: true },
  ];
}

/** The genuine events in the order in which they happened. */
export function inTrueOrder(scenes: readonly Scene[]): SubscriptionEvent[] {
  return scenes
    .filter(({ isForged }) => !isForged)
    .map(({ event }) => event)
    .sort((one, other) => one.created - other.created);
}
