import { haveSameFields, type SubscriptionEvent } from './subscription-event.ts';
import type { Order } from './tie-group.ts';

export type SubscriptionState = {
  /** The newest event with an effect. */
  readonly deciding: SubscriptionEvent;
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
    other !== undefined && haveSameFields(one.deciding, other.deciding) && one.order === other.order
  );
}
