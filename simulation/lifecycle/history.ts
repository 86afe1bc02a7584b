import type { JsonObject } from './json.ts';
import { previousAttributes } from './previous-attributes.ts';
import { API_VERSIONS, renderSubscription, type Shape } from './shapes.ts';
import type { CustomerLifecycle, LifecycleChange, Subscription } from './subscription.ts';

/** A change together with the event that Stripe sends about it. */
export type TrueEvent = {
  /** Its position in the true order of the customer's events. */
  readonly number: number;
  readonly eventId: string;
  readonly atMs: number;
  readonly createdSeconds: number;
  readonly customerId: string;
  readonly subscriptionId: string;
  /** When the subscription began. */
  readonly beganSeconds: number;
  readonly status: string;
  /** `null` in the oldest API versions, which have no products. */
  readonly productId: string | null;
  readonly productName: string;
  readonly body: string;
};

/** A customer's events in the true order, and what the API returns at any time. */
export type History = {
  readonly customerId: string;
  readonly events: readonly TrueEvent[];
  /** The subscription as the API returns it at this time; `null` before it was created. */
  stateAt(subscriptionId: string, atMs: number): JsonObject | null;
  /** The same, independent of the API version. */
  subscriptionAt(subscriptionId: string, atMs: number): Subscription | null;
};

type PastState = {
  readonly atMs: number;
  readonly subscription: Subscription;
  readonly object: JsonObject;
};

/** How Stripe formats events. */
export type EventFormat = {
  readonly shape: Shape;
  /** All events have the same id, as in many test fixtures. */
  readonly hasSharedIds: boolean;
  /** Whether updates have `previous_attributes`: Stripe's do, those of test fixtures often don't. */
  readonly hasPreviousAttributes: boolean;
  /** Every third event lacks `created`, as in test fixtures. */
  readonly hasUndatedEvents?: boolean;
};

const SHARED_ID = 'evt_00000000000000';

export function renderHistory(lifecycle: CustomerLifecycle, format: EventFormat): History {
  const { shape, hasSharedIds } = format;
  const rendered = new Map<string, PastState[]>();
  for (const [id, subscription] of lifecycle.initialStates) {
    const atMs = subscription.startedAtSeconds * 1_000;
    const object = renderSubscription(subscription, shape);
    rendered.set(id, [{ atMs, subscription, object }]);
  }

  const bodies = new Set<string>();
  const events = lifecycle.changes.map((change): TrueEvent => {
    const { number, atMs, subscription } = change;
    const past = rendered.get(subscription.id) ?? [];
    const before = past.at(-1)?.object ?? {};
    const object = renderSubscription(subscription, shape);
    past.push({ atMs, subscription, object });
    const bodyOf = (id: string) =>
      JSON.stringify(renderEvent(change, id, format, { before, object }));
    const ownId = `evt_${lifecycle.customerId}_${number}`;
    // The same change again within a second would have the same bytes, and so be the same event.
    const eventId = hasSharedIds && !bodies.has(bodyOf(SHARED_ID)) ? SHARED_ID : ownId;
    const body = bodyOf(eventId);
    bodies.add(body);
    return {
      number,
      eventId,
      atMs,
      createdSeconds: Math.floor(atMs / 1_000),
      customerId: lifecycle.customerId,
      subscriptionId: subscription.id,
      beganSeconds: subscription.startedAtSeconds,
      status: subscription.status,
      productId: shape === 'ancient' ? null : subscription.product.id,
      productName: subscription.product.name,
      body,
    };
  });

  const pastAt = (subscriptionId: string, atMs: number) =>
    rendered.get(subscriptionId)?.findLast((state) => state.atMs <= atMs);
  return {
    customerId: lifecycle.customerId,
    events,
    stateAt: (subscriptionId, atMs) => pastAt(subscriptionId, atMs)?.object ?? null,
    subscriptionAt: (subscriptionId, atMs) => pastAt(subscriptionId, atMs)?.subscription ?? null,
  };
}

function renderEvent(
  { number, atMs, subscription }: LifecycleChange,
  eventId: string,
  { shape, hasPreviousAttributes, hasUndatedEvents = false }: EventFormat,
  { before, object }: { readonly before: JsonObject; readonly object: JsonObject },
): JsonObject {
  const isDeletion = subscription.status === 'canceled';
  const isUndated = hasUndatedEvents && number % 3 === 0;
  return {
    id: eventId,
    object: 'event',
    api_version: API_VERSIONS[shape],
    ...(!isUndated && { created: Math.floor(atMs / 1_000) }),
    data: {
      object,
      ...(!isDeletion &&
        hasPreviousAttributes && { previous_attributes: previousAttributes(before, object) }),
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: `customer.subscription.${isDeletion ? 'deleted' : 'updated'}`,
  };
}
