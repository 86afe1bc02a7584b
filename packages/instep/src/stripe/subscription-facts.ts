// What access needs of a subscription besides its status, and the team that its metadata names.

import { asObject, isList, type Json, type JsonObject } from '../core/json.ts';
import { isId, MAX_SECONDS } from './parse-event.ts';

/** What a subscription says besides its status and product, in any API version; `null` for what it does not say. */
export type SubscriptionFacts = {
  /** Of the first item, like the end of the period. */
  readonly quantity: number | null;
  /** Times are in seconds since 1970. */
  readonly currentPeriodEndSeconds: number | null;
  readonly trialEndSeconds: number | null;
  readonly cancelAtSeconds: number | null;
  readonly cancelsAtPeriodEnd: boolean | null;
  readonly isCollectionPaused: boolean | null;
  /** What Stripe does at the end of a trial, because the subscription has no payment method; else `null`. */
  readonly trialEndAction: 'cancel' | 'pause' | null;
};

/** Reads the facts of a subscription as Stripe sent it. A value of another type than expected counts as missing. */
export function subscriptionFacts(subscription: JsonObject): SubscriptionFacts {
  const items = asObject(subscription.items)?.data;
  const item = asObject(isList(items) ? items[0] : null) ?? {};
  const { cancel_at_period_end: cancelsAtPeriodEnd, pause_collection: pause } = subscription;
  return {
    quantity: wholeNumber(item.quantity ?? subscription.quantity, Number.MAX_SAFE_INTEGER),
    currentPeriodEndSeconds: seconds(item.current_period_end ?? subscription.current_period_end),
    trialEndSeconds: seconds(subscription.trial_end),
    cancelAtSeconds: seconds(subscription.cancel_at),
    cancelsAtPeriodEnd: typeof cancelsAtPeriodEnd === 'boolean' ? cancelsAtPeriodEnd : null,
    isCollectionPaused: pause === undefined ? null : pause !== null,
    trialEndAction: trialEndAction(subscription),
  };
}

function trialEndAction(subscription: JsonObject): SubscriptionFacts['trialEndAction'] {
  const { default_payment_method: method, default_source: source } = subscription;
  if ((method ?? source ?? null) !== null) return null;
  const behavior = asObject(asObject(subscription.trial_settings)?.end_behavior);
  const action = behavior?.missing_payment_method;
  return action === 'cancel' || action === 'pause' ? action : null;
}

const seconds = (value: Json | undefined) => wholeNumber(value, MAX_SECONDS);

function wholeNumber(value: Json | undefined, max: number): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max
    ? value
    : null;
}

/** The key of metadata that names a team, where no other is set. */
export const TEAM_KEY = 'teamId';

/**
 * What the metadata of an object at Stripe has under a key, if it can be the id of a team; `null` otherwise. The
 * database decides whether it is one.
 */
export function teamNamedIn(object: JsonObject, key: string): string | null {
  const named = asObject(object.metadata)?.[key];
  return isId(named) ? named : null;
}
