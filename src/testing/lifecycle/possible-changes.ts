import type { Random } from '../random.ts';
import { PRODUCTS, type Subscription } from './subscription.ts';

/** A change that can happen to a subscription. */
export type PossibleChange = {
  /** Not before this time. */
  readonly dueAtSeconds?: number;
  readonly isDeletion?: true;
  apply(atSeconds: number, random: Random): Partial<Subscription>;
};

const DAY_SECONDS = 24 * 60 * 60;

export const PERIOD_SECONDS = 30 * DAY_SECONDS;
export const TRIAL_SECONDS = 14 * DAY_SECONDS;

const INCOMPLETE_EXPIRES_SECONDS = 23 * 60 * 60;

/** The changes that a subscription's status allows. One that is listed twice is twice as likely. */
export function possibleChanges(subscription: Subscription): readonly PossibleChange[] {
  const { startedAtSeconds, trialEndSeconds, invoices } = subscription;
  const atTrialEnd = trialEndSeconds === null ? {} : { dueAtSeconds: trialEndSeconds };
  switch (subscription.status) {
    case 'incomplete':
      return [
        { apply: () => ({ status: 'active' }) },
        { apply: () => ({ status: 'active', paymentMethods: 1 }) },
        {
          dueAtSeconds: startedAtSeconds + INCOMPLETE_EXPIRES_SECONDS,
          apply: (atSeconds) => ({ status: 'incomplete_expired', endedAtSeconds: atSeconds }),
        },
      ];
    case 'trialing':
      return [
        ...settingChanges(subscription),
        { ...atTrialEnd, apply: (at) => ({ ...nextPeriod(subscription, at), status: 'active' }) },
        { ...atTrialEnd, apply: (at) => ({ ...nextPeriod(subscription, at), status: 'past_due' }) },
        { ...atTrialEnd, apply: () => ({ status: 'paused' }) },
        // The trial ends early.
        { apply: (at) => ({ ...nextPeriod(subscription, at), status: 'active' }) },
        CANCEL,
      ];
    case 'active':
      return [
        ...settingChanges(subscription),
        ...settingChanges(subscription),
        renewal(subscription),
        renewal(subscription),
        { apply: () => ({ status: 'past_due' }) },
        { apply: () => ({ status: 'past_due' }) },
        // Back to active within the same second, this is a cycle without any other evidence.
        { apply: () => ({ status: 'unpaid' }) },
        CANCEL,
      ];
    case 'past_due':
      return [
        { apply: () => ({ status: 'active' }) },
        { apply: () => ({ status: 'active', paymentMethods: subscription.paymentMethods + 1 }) },
        { apply: () => ({ paymentMethods: subscription.paymentMethods + 1 }) },
        { apply: () => ({ status: 'unpaid' }) },
        { apply: () => ({ status: 'unpaid' }) },
        CANCEL,
      ];
    case 'unpaid':
      return [
        { apply: () => ({ status: 'active' }) },
        { apply: () => ({ invoices: invoices + 1 }) },
        CANCEL,
      ];
    case 'paused':
      return [
        { apply: (at) => ({ ...nextPeriod(subscription, at), status: 'active' }) },
        { apply: () => ({ paymentMethods: subscription.paymentMethods + 1 }) },
        CANCEL,
      ];
    case 'canceled':
    case 'incomplete_expired':
      return [];
  }
}

const CANCEL: PossibleChange = {
  isDeletion: true,
  apply: (atSeconds) => ({ status: 'canceled', endedAtSeconds: atSeconds }),
};

/** What the customer may set while the subscription lifecycles. */
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

/** At the end of its period a subscription renews, or ends if the customer cancelled it. */
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
