// What the state of a customer keeps of an event: the values for a plan, and those that only access needs.

import type { SubscriptionEvent } from './event.ts';
import { asObject, type JsonObject } from './json.ts';
import { type Plan, planWith, seconds } from './plan-fields.ts';

/** What an event reports about its subscription. */
export type Reported = {
  readonly createdSeconds: number;
  readonly status: string;
  /** The values of a plan, whatever the status does to it. */
  readonly plan: Plan;
  readonly cancelAtSeconds: number | null;
  readonly isCollectionPaused: boolean | null;
  /** What Stripe does at the end of a trial, because the subscription has no payment method; else `null`. */
  readonly trialEndAction: TrialEndAction | null;
};

export type TrialEndAction = 'cancel' | 'pause';

const known = new WeakMap<SubscriptionEvent, Reported>();

/** The same object for the same event, so that `===` tells whether an event decides. */
export function reportedBy(event: SubscriptionEvent): Reported {
  const reported = known.get(event) ?? read(event);
  known.set(event, reported);
  return reported;
}

function read(event: SubscriptionEvent): Reported {
  const { subscription, object } = event;
  const { pause_collection: pause } = object;
  return {
    createdSeconds: subscription.createdSeconds,
    status: subscription.status,
    plan: planWith(({ read }) => read(event)),
    cancelAtSeconds: seconds(object.cancel_at),
    isCollectionPaused: pause === undefined ? null : pause !== null,
    trialEndAction: trialEndAction(object),
  };
}

function trialEndAction(subscription: JsonObject): TrialEndAction | null {
  const { default_payment_method: method, default_source: source } = subscription;
  if ((method ?? source ?? null) !== null) return null;
  const behavior = asObject(asObject(subscription.trial_settings)?.end_behavior);
  const action = behavior?.missing_payment_method;
  return isTrialEndAction(action) ? action : null;
}

export function isTrialEndAction(action: unknown): action is TrialEndAction {
  return action === 'cancel' || action === 'pause';
}
