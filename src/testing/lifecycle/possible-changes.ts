import type { Random } from '../random.ts';
import { PRODUCTS, type Subscription } from './subscription.ts';

/** Something that can happen to a subscription. */
export type Move = {
  /** When it is due, if not at any time. */
  readonly dueAtSeconds?: number;
  readonly isDeletion?: true;
  apply(atSeconds: number, random: Random): Partial<Subscription>;
};

const DAY_SECONDS = 24 * 60 * 60;

export const PERIOD_SECONDS = 30 * DAY_SECONDS;
export const TRIAL_SECONDS = 14 * DAY_SECONDS;

/** An incomplete subscription expires after so long. */
const INCOMPLETE_SECONDS = 23 * 60 * 60;

/** All that can happen to a subscription as it is; nothing when it is over. */
export function movesOf(subscription: Subscription): readonly Move[] {
  const { startedAtSeconds, trialEndSeconds, invoices } = subscription;
  const atTrialEnd = trialEndSeconds === null ? {} : { dueAtSeconds: trialEndSeconds };
  switch (subscription.status) {
    case 'incomplete':
      return [
        { apply: () => ({ status: 'active' }) },
        { apply: () => ({ status: 'active', paymentMethods: 1 }) },
        {
          dueAtSeconds: startedAtSeconds + INCOMPLETE_SECONDS,
          apply: (atSeconds) => ({ status: 'incomplete_expired', endedAtSeconds: atSeconds }),
        },
      ];
    case 'trialing':
      return [
        ...settingsOf(subscription),
        { ...atTrialEnd, apply: (at) => ({ ...nextPeriod(subscription, at), status: 'active' }) },
        { ...atTrialEnd, apply: (at) => ({ ...nextPeriod(subscription, at), status: 'past_due' }) },
        { ...atTrialEnd, apply: () => ({ status: 'paused' }) },
        // Ended early.
        { apply: (at) => ({ ...nextPeriod(subscription, at), status: 'active' }) },
        CANCEL,
      ];
    case 'active':
      return [
        ...settingsOf(subscription),
        ...settingsOf(subscription),
        renewal(subscription),
        renewal(subscription),
        { apply: () => ({ status: 'past_due' }) },
        { apply: () => ({ status: 'past_due' }) },
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

const CANCEL: Move = {
  isDeletion: true,
  apply: (atSeconds) => ({ status: 'canceled', endedAtSeconds: atSeconds }),
};

/** What the customer may set while the subscription lives. */
function settingsOf(subscription: Subscription): Move[] {
  const { invoices, cancelsAtPeriodEnd, isCollectionPaused, paymentMethods } = subscription;
  return [
    {
      // A proration is invoiced with the change, or later.
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

/** At the end of the period it goes on, or ends if that was the customer's wish. */
function renewal(subscription: Subscription): Move {
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
