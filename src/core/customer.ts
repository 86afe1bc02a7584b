import type { Order } from './same-second-order.ts';
import type { SubscriptionEvent } from './subscription-event.ts';

/** The state of a subscription: its newest event with an effect. */
export type SubscriptionState = {
  readonly newest: SubscriptionEvent;
  /** How it is known to be the last event of its second. */
  readonly order: Order;
};

/** A customer's subscriptions. Events that name none count as one more subscription, under `null`. */
export type Customer = ReadonlyMap<string | null, SubscriptionState>;

export const NO_SUBSCRIPTIONS: Customer = new Map();

const FIELDS: readonly (keyof SubscriptionEvent)[] = [
  'customerId',
  'subscriptionId',
  'status',
  'productId',
  'planName',
  'createdSeconds',
];

/** Whether two events say the same, even if one of them was read from the database. */
export function haveSameFields(
  one: SubscriptionEvent | null,
  other: SubscriptionEvent | null,
): boolean {
  return FIELDS.every((field) => one?.[field] === other?.[field]);
}

/** Whether two states are the same. */
export function isSameState(one: SubscriptionState, other: SubscriptionState | undefined): boolean {
  return (
    other !== undefined && haveSameFields(one.newest, other.newest) && one.order === other.order
  );
}
