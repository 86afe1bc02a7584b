import type { Order } from './same-second-order.ts';
import { haveSameFields, type SubscriptionEvent } from './subscription-event.ts';

/** The state of a subscription: its newest event with an effect. */
export type SubscriptionState = {
  readonly newest: SubscriptionEvent;
  /** How it was found to be the last event of its second. */
  readonly order: Order;
};

/**
 * A customer's subscriptions. Events without a subscription id count as one more subscription, under `null`.
 */
export type Customer = ReadonlyMap<string | null, SubscriptionState>;

export const NO_SUBSCRIPTIONS: Customer = new Map();

/** Whether two states are the same. */
export function isSameState(one: SubscriptionState, other: SubscriptionState | undefined): boolean {
  return (
    other !== undefined && haveSameFields(one.newest, other.newest) && one.order === other.order
  );
}
