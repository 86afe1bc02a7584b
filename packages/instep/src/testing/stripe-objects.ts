// Events, notifications and Checkout Sessions as Stripe creates and signs them: for tests, `instep trigger` and the demo.

import { createHash, createHmac } from 'node:crypto';

/** The content of the event. Only the customer is required. */
export type SubscriptionEventFields = {
  readonly customerId: string;
  /** Default: one for each customer, as tables of apps can require, such as `sub_1` of `cus_1`. */
  readonly subscriptionId?: string | undefined;
  readonly productId?: string | undefined;
  /** Default: one for each product, such as `price_prod_1`. */
  readonly priceId?: string | undefined;
  /** Default: 1. */
  readonly quantity?: number | undefined;
  /** Default: `active`, or `canceled` for a deletion. */
  readonly status?: string | undefined;
  /** Default: `customer.subscription.updated`, or `.deleted` for the status `canceled`. */
  readonly type?: string | undefined;
  /** Stripe's clock, in whole seconds since 1970. Default: now. */
  readonly createdSeconds?: number | undefined;
  /** Default: derived from the other fields, so the same fields are the same event. */
  readonly eventId?: string | undefined;
  /** When the billing period ends, in whole seconds since 1970. Default: with the trial, or 30 days after the event. */
  readonly currentPeriodEndSeconds?: number | undefined;
  /** Default: `false`. */
  readonly cancelAtPeriodEnd?: boolean | undefined;
  /** When the trial ends, in whole seconds since 1970. The status does not follow from it. Default: there is no trial. */
  readonly trialEndSeconds?: number | undefined;
  /** The subscription's test clock. Stripe's lists leave it out unless they are asked for the clock or the customer. */
  readonly testClockId?: string | undefined;
  /** The values that the event replaced, as Stripe names them in `previous_attributes`. */
  readonly previousAttributes?: Readonly<Record<string, unknown>> | undefined;
};

export type SubscriptionEvent = ReturnType<typeof createSubscriptionEvent>;

const PERIOD_SECONDS = 30 * 24 * 60 * 60;

/**
 * Creates an event in the format that Stripe has sent since 2025: the product is an id, and the item
 * carries the billing period. `data.object` is the subscription as Stripe's API returns it.
 *
 * @example
 * ```ts
 * import { createSubscriptionEvent } from 'instep/testing';
 *
 * const event = createSubscriptionEvent({ customerId: 'cus_1', status: 'trialing' });
 * console.log(event.type); // customer.subscription.updated
 * ```
 */
export function createSubscriptionEvent(
  fields: SubscriptionEventFields,
  now: () => number = Date.now,
) {
  const { customerId, productId = 'prod_example' } = fields;
  const { subscriptionId = customerId.replace(/^(?:cus_)?/, 'sub_') } = fields;
  const { createdSeconds = Math.floor(now() / 1_000), previousAttributes } = fields;
  const { trialEndSeconds = null, quantity = 1, cancelAtPeriodEnd = false } = fields;
  const status = fields.status ?? (fields.type?.endsWith('.deleted') ? 'canceled' : 'active');
  const isEnded = status === 'canceled';
  const type = fields.type ?? `customer.subscription.${isEnded ? 'deleted' : 'updated'}`;
  const price = fields.priceId ?? `price_${productId}`;
  const isTrial = status === 'trialing' && trialEndSeconds !== null;
  const periodEnd = isTrial ? trialEndSeconds : createdSeconds + PERIOD_SECONDS;
  return {
    id: fields.eventId ?? deriveId({ ...fields, createdSeconds, status, type }),
    object: 'event',
    api_version: '2025-08-27.basil',
    created: createdSeconds,
    data: {
      object: {
        id: subscriptionId,
        object: 'subscription',
        cancel_at_period_end: cancelAtPeriodEnd,
        canceled_at: isEnded ? createdSeconds : null,
        collection_method: 'charge_automatically',
        created: createdSeconds,
        currency: 'usd',
        customer: customerId,
        ended_at: isEnded ? createdSeconds : null,
        items: {
          object: 'list',
          data: [
            {
              id: `si_${subscriptionId}`,
              object: 'subscription_item',
              created: createdSeconds,
              current_period_end: fields.currentPeriodEndSeconds ?? periodEnd,
              current_period_start: createdSeconds,
              metadata: {},
              plan: {
                id: price,
                object: 'plan',
                active: true,
                interval: 'month',
                product: productId,
              },
              price: { id: price, object: 'price', active: true, product: productId },
              quantity,
              subscription: subscriptionId,
            },
          ],
          has_more: false,
          total_count: 1,
          url: `/v1/subscription_items?subscription=${subscriptionId}`,
        },
        livemode: false,
        metadata: {},
        status,
        test_clock: fields.testClockId ?? null,
        trial_end: trialEndSeconds,
        trial_start: trialEndSeconds === null ? null : createdSeconds,
      },
      ...(previousAttributes && { previous_attributes: previousAttributes }),
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}

function deriveId(fields: SubscriptionEventFields): string {
  const digest = createHash('sha256').update(JSON.stringify(fields)).digest('hex');
  return `evt_${digest.slice(0, 24)}`;
}

/** The parts of an event that its notification uses. */
export type AnnouncedEvent = {
  readonly id: string;
  readonly type?: unknown;
  /** In whole seconds since 1970. */
  readonly created?: number;
  readonly data?: unknown;
};

export type EventNotification = ReturnType<typeof createEventNotification>;

const ID_PREFIX = 'evt_notification_';

/**
 * Creates the notification that Stripe sends to an event destination with thin payload in place of an event.
 * Instep retrieves the event from Stripe's API: add it to `events` of the stand-in.
 *
 * @example
 * ```ts
 * import { createEventNotification, createSubscriptionEvent } from 'instep/testing';
 *
 * const event = createSubscriptionEvent({ customerId: 'cus_1' });
 * console.log(createEventNotification(event).type); // v1.customer.subscription.updated
 * ```
 */
export function createEventNotification({ id, type, created = 0, data }: AnnouncedEvent) {
  return {
    id: ID_PREFIX + id,
    object: 'v2.core.event',
    context: null,
    created: new Date(created * 1_000).toISOString(),
    livemode: false,
    reason: null,
    related_object: relatedObject(data),
    type: `v1.${type}`,
  };
}

/** The id of the event that a notification announces. */
export function announcedEventId(notificationId: string): string {
  return notificationId.replace(ID_PREFIX, '');
}

function relatedObject(data: unknown) {
  const object = memberOf(data, 'object');
  const id = String(memberOf(object, 'id'));
  return { id, type: 'subscription', url: `/v1/subscriptions/${id}` };
}

function memberOf(value: unknown, name: string): unknown {
  return new Map(Object.entries(Object(value))).get(name);
}

/** The content of the Checkout Session. Only the customer is required. */
export type CheckoutSessionFields = {
  readonly customerId: string;
  /** Default: the one that `createSubscriptionEvent` gives this customer, such as `sub_1` of `cus_1`. */
  readonly subscriptionId?: string | undefined;
  /** Default: one for each customer, such as `cs_1` of `cus_1`. */
  readonly id?: string | undefined;
  /** Default: `complete`. */
  readonly status?: 'open' | 'complete' | 'expired' | undefined;
  /** Default: `subscription`. */
  readonly mode?: 'subscription' | 'payment' | 'setup' | undefined;
  readonly clientReferenceId?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
};

export type CheckoutSession = ReturnType<typeof createCheckoutSession>;

/**
 * Creates a Checkout Session as Stripe's API returns it. Add it to `checkoutSessions` of the stand-in, and its
 * subscription to `subscriptions`.
 *
 * @example
 * ```ts
 * import { createCheckoutSession } from 'instep/testing';
 *
 * const session = createCheckoutSession({ customerId: 'cus_1', metadata: { teamId: '7' } });
 * console.log(session.id, session.subscription); // cs_1 sub_1
 * ```
 */
export function createCheckoutSession(
  { customerId, mode = 'subscription', status = 'complete', ...fields }: CheckoutSessionFields,
  now: () => number = Date.now,
) {
  const idAs = (prefix: string) => customerId.replace(/^(?:cus_)?/, prefix);
  const isComplete = status === 'complete';
  const subscription = fields.subscriptionId ?? idAs('sub_');
  return {
    id: fields.id ?? idAs('cs_'),
    object: 'checkout.session',
    client_reference_id: fields.clientReferenceId ?? null,
    created: Math.floor(now() / 1_000),
    customer: customerId,
    livemode: false,
    metadata: fields.metadata ?? {},
    mode,
    payment_status: isComplete ? 'paid' : 'unpaid',
    status,
    subscription: isComplete && mode === 'subscription' ? subscription : null,
  };
}

/**
 * Signs a webhook body as Stripe does: returns the value of the header `stripe-signature`.
 *
 * @example
 * ```ts
 * import { signWebhook } from 'instep/testing';
 *
 * const header = signWebhook('{"type":"invoice.paid"}', 'whsec_example', 1_767_225_600_000);
 * console.log(header); // t=1767225600,v1=…
 * ```
 */
export function signWebhook(body: string, secret: string, atMs: number): string {
  const timestamp = Math.floor(atMs / 1_000);
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return `t=${timestamp},v1=${signature}`;
}

/** The options with which `fetch` delivers an event. */
export type SignedRequest = {
  readonly method: 'POST';
  readonly headers: { readonly 'content-type': string; readonly 'stripe-signature': string };
  readonly body: string;
};

/**
 * Signs an event for delivery. The result is the second argument of `fetch` and of `new Request`.
 *
 * @example
 * ```ts
 * import { createSubscriptionEvent, signedRequest } from 'instep/testing';
 *
 * const event = createSubscriptionEvent({ customerId: 'cus_1' });
 * const url = 'http://127.0.0.1:3000/api/stripe/webhook';
 * const request = new Request(url, signedRequest(event, 'whsec_example'));
 * console.log(request.headers.has('stripe-signature')); // true
 * ```
 */
export function signedRequest(
  event: object,
  secret: string,
  now: () => number = Date.now,
): SignedRequest {
  const body = JSON.stringify(event);
  const signature = signWebhook(body, secret, now());
  const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
  return { method: 'POST', headers, body };
}
