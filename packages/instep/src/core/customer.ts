import type { Order } from './same-second-order.ts';
import { haveSameFields, type SubscriptionEvent } from './subscription-event.ts';

/** What decides a subscription: its newest event with an effect, the deciding event. */
export type SubscriptionState = {
  readonly newest: SubscriptionEvent;
  /** How Instep knows that it is the last event of its tie group. */
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
