import type { SubscriptionEvent } from 'instep-engine/rule';

type JsonObject = SubscriptionEvent['object'];

type Reported = {
  readonly customerId?: string;
  readonly subscriptionId?: string | null;
  readonly status?: string;
  readonly productId?: string | null;
  readonly planName?: string | null;
  readonly createdSeconds?: number;
  /** Members of the subscription besides its status. */
  readonly object?: JsonObject;
  readonly previousAttributes?: JsonObject | null;
  readonly eventId?: string | null;
  readonly apiVersion?: string | null;
};

let count = 0;

/** An event that reports this. Without `previousAttributes`, nothing shows its order. */
export function eventOf(reported: Reported = {}): SubscriptionEvent {
  const { customerId = 'cus_1', subscriptionId = 'sub_1', status = 'active' } = reported;
  const { productId = 'prod_1', planName = 'Pro', createdSeconds = 10 } = reported;
  count += 1;
  return {
    key: keyOf(createdSeconds, count),
    eventId: reported.eventId === undefined ? `evt_${count}` : reported.eventId,
    type: 'customer.subscription.updated',
    apiVersion: reported.apiVersion ?? null,
    subscription: { customerId, subscriptionId, status, productId, planName, createdSeconds },
    object: { ...reported.object, status },
    previousAttributes: reported.previousAttributes ?? null,
    isDeletion: false,
    isSnapshot: false,
    seenKeys: null,
  };
}

/** Events of one subscription in one second, one for each status. */
export const eventsOf = (
  subscriptionId: string,
  createdSeconds: number,
  ...statuses: readonly string[]
): SubscriptionEvent[] =>
  statuses.map((status) => eventOf({ subscriptionId, createdSeconds, status }));

function keyOf(createdSeconds: number, number: number): string {
  const time = Math.max(1, createdSeconds).toString(16).padStart(8, '0');
  return `${time}-0000-0000-0000-${number.toString(16).padStart(12, '0')}`;
}
