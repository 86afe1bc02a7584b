import type { Random } from '../random.ts';
import { PRODUCTS, type Status, type Subscription } from './subscription.ts';

/** A change that can happen to a subscription. */
type PossibleChange = {
  /** The change happens at this time or later. */
  readonly dueAtSeconds?: number;
  apply(atSeconds: number, random: Random): Partial<Subscription>;
};

const DAY_SECONDS = 24 * 60 * 60;

export const PERIOD_SECONDS = 30 * DAY_SECONDS;
export const TRIAL_SECONDS = 14 * DAY_SECONDS;

const INCOMPLETE_EXPIRES_SECONDS = 23 * 60 * 60;

/** The changes that a subscription's status allows. One that is listed twice is twice as likely. */
export function possibleChanges(subscription: Subscription): readonly PossibleChange[] {
  const { startedAtSeconds, trialEndSeconds, invoices, paymentMethods } = subscription;
  const change = (changed: Partial<Subscription>): PossibleChange => ({ apply: () => changed });
  const renew = (status: Status): PossibleChange => ({
    apply: (atSeconds) => ({ ...nextPeriod(subscription, atSeconds), status }),
  });
  const due = (dueAtSeconds: number | null, possible: PossibleChange): PossibleChange =>
    dueAtSeconds === null ? possible : { ...possible, dueAtSeconds };
  const addPaymentMethod = change({ paymentMethods: paymentMethods + 1 });
  switch (subscription.status) {
    case 'incomplete':
      return [
        change({ status: 'active' }),
        change({ status: 'active', paymentMethods: 1 }),
        due(startedAtSeconds + INCOMPLETE_EXPIRES_SECONDS, end('incomplete_expired')),
      ];
    case 'trialing':
      return [
        ...settingChanges(subscription),
        due(trialEndSeconds, renew('active')),
        due(trialEndSeconds, renew('past_due')),
        due(trialEndSeconds, change({ status: 'paused' })),
        // The trial ends early.
        renew('active'),
        CANCEL,
      ];
    case 'active':
      return [
        ...settingChanges(subscription),
        ...settingChanges(subscription),
        renewal(subscription),
        renewal(subscription),
        change({ status: 'past_due' }),
        change({ status: 'past_due' }),
        // Together with a return to active within the same second, this is a cycle without any other
        // evidence.
        change({ status: 'unpaid' }),
        CANCEL,
      ];
    case 'past_due':
      return [
        change({ status: 'active' }),
        change({ status: 'active', paymentMethods: paymentMethods + 1 }),
        addPaymentMethod,
        change({ status: 'unpaid' }),
        change({ status: 'unpaid' }),
        CANCEL,
      ];
    case 'unpaid':
      return [change({ status: 'active' }), change({ invoices: invoices + 1 }), CANCEL];
    case 'paused':
      return [renew('active'), addPaymentMethod, CANCEL];
    case 'canceled':
    case 'incomplete_expired':
      return [];
  }
}

function end(status: Status): PossibleChange {
  return { apply: (atSeconds) => ({ status, endedAtSeconds: atSeconds }) };
}

const CANCEL = end('canceled');

/** The settings that the customer can change while the subscription is live. */
function settingChanges(subscription: Subscription): PossibleChange[] {
  const { invoices, cancelsAtPeriodEnd, isCollectionPaused, paymentMethods } = subscription;
  return [
    {
      // A proration is invoiced with the change or later.
      apply: (_, random) => ({
        product: random.pick(PRODUCTS.filter(({ id }) => id !== subscription.product.id)),
        invoices: random.chance(0.5) ? invoices + 1 : invoices,
      }),
    },
    { apply: () => ({ quantity: subscription.quantity + 1, invoices: invoices + 1 }) },
    { apply: () => ({ paymentMethods: paymentMethods + 1 }) },
    { apply: () => ({ cancelsAtPeriodEnd: !cancelsAtPeriodEnd }) },
    { apply: () => ({ isCollectionPaused: !isCollectionPaused }) },
  ];
}

/** At the end of its period a subscription renews, or ends if the customer canceled it. */
function renewal(subscription: Subscription): PossibleChange {
  const dueAtSeconds = subscription.periodEndSeconds;
  return subscription.cancelsAtPeriodEnd
    ? { ...CANCEL, dueAtSeconds }
    : { dueAtSeconds, apply: (atSeconds) => nextPeriod(subscription, atSeconds) };
}

function nextPeriod({ invoices }: Subscription, atSeconds: number): Partial<Subscription> {
  return {
    invoices: invoices + 1,
    periodStartSeconds: atSeconds,
    periodEndSeconds: atSeconds + PERIOD_SECONDS,
  };
}
