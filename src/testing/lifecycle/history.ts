import type { JsonObject } from './json.ts';
import { previousAttributes } from './previous-attributes.ts';
import { API_VERSIONS, type Shape, show } from './shapes.ts';
import type { CustomerLife, Moment } from './subscription.ts';

/** An event as it truly happened, and as it is told. */
export type TrueEvent = {
  /** Its place in the true order of all events of the customer. */
  readonly number: number;
  readonly eventId: string;
  readonly atMs: number;
  readonly createdSeconds: number;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  /** As far as the API version tells it: the oldest ones know no products. */
  readonly productId: string | null;
  readonly productName: string;
  readonly body: string;
};

/** A customer's history: its events in the true order, and the API at any time. */
export type History = {
  readonly customerId: string;
  readonly events: readonly TrueEvent[];
  /** The subscription as the API shows it at this time; `null` before it began. */
  view(subscriptionId: string, atMs: number): JsonObject | null;
};

export type Telling = {
  readonly shape: Shape;
  /** All events have one and the same id, as test fixtures all over the world have. */
  readonly hasSharedIds: boolean;
  /** Whether updates name what they replaced: all of Stripe's do, those of test fixtures do not. */
  readonly namesReplaced: boolean;
};

const SHARED_ID = 'evt_00000000000000';

/** Tells a life as events, each with what it replaced. */
export function tellLife(life: CustomerLife, telling: Telling): History {
  const { shape, hasSharedIds } = telling;
  const shown = new Map<string, { readonly atMs: number; readonly object: JsonObject }[]>();
  for (const [id, subscription] of life.begun) {
    const atMs = subscription.startedAtSeconds * 1_000;
    shown.set(id, [{ atMs, object: show(subscription, shape) }]);
  }

  const events = life.moments.map((moment): TrueEvent => {
    const { number, atMs, subscription } = moment;
    const past = shown.get(subscription.id) ?? [];
    const before = past.at(-1)?.object ?? {};
    const object = show(subscription, shape);
    past.push({ atMs, object });
    const eventId = hasSharedIds ? SHARED_ID : `evt_${life.customerId}_${number}`;
    return {
      number,
      eventId,
      atMs,
      createdSeconds: Math.floor(atMs / 1_000),
      customerId: life.customerId,
      subscriptionId: subscription.id,
      status: subscription.status,
      productId: shape === 'ancient' ? null : subscription.product.id,
      productName: subscription.product.name,
      body: JSON.stringify(envelope(moment, eventId, telling, { before, object })),
    };
  });

  return {
    customerId: life.customerId,
    events,
    view(subscriptionId, atMs) {
      const past = shown.get(subscriptionId) ?? [];
      return past.findLast((state) => state.atMs <= atMs)?.object ?? null;
    },
  };
}

function envelope(
  { atMs, isDeletion }: Moment,
  eventId: string,
  { shape, namesReplaced }: Telling,
  { before, object }: { readonly before: JsonObject; readonly object: JsonObject },
): JsonObject {
  return {
    id: eventId,
    object: 'event',
    api_version: API_VERSIONS[shape],
    created: Math.floor(atMs / 1_000),
    data: {
      object,
      ...(!isDeletion &&
        namesReplaced && { previous_attributes: previousAttributes(before, object) }),
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: isDeletion ? 'customer.subscription.deleted' : 'customer.subscription.updated',
  };
}
