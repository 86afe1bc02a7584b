import type { Order } from './same-second-order.ts';
import type { SubscriptionEvent } from './subscription-event.ts';

/** What is known of a subscription: its newest event that has an effect. */
export type SubscriptionState = {
  readonly newest: SubscriptionEvent;
  /** How it is known to be the last event of its second. */
  readonly order: Order;
};

/**
 * All that the rule remembers of a customer, by subscription. Events that name no subscription
 * count as one more, under `null`.
 */
export type Customer = ReadonlyMap<string | null, SubscriptionState>;

export const UNKNOWN_CUSTOMER: Customer = new Map();

const FIELDS: readonly (keyof SubscriptionEvent)[] = [
  'customerId',
  'subscriptionId',
  'status',
  'productId',
  'planName',
  'createdSeconds',
];

/** Whether two events say the same; one of them may come from the database. */
export function isSameEvent(
  one: SubscriptionEvent | null,
  other: SubscriptionEvent | null,
): boolean {
  return FIELDS.every((field) => one?.[field] === other?.[field]);
}

/** Whether two states say the same. */
export function isSameState(one: SubscriptionState, other: SubscriptionState | undefined): boolean {
  return other !== undefined && isSameEvent(one.newest, other.newest) && one.order === other.order;
}
