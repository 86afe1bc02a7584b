import { ApiCollection, type ApiObject, listObjects } from 'instep/src/testing/fake-stripe-api.ts';
import type { Json } from 'instep-engine/rule';
import { InstepError } from 'instep-engine/runtime';
import type { StripeApi, StripePage } from 'instep-engine/src/stripe/api.ts';
import type { Redirect } from '../checkout.ts';
import type { History } from '../lifecycle/history.ts';
import { PRODUCTS } from '../lifecycle/subscription.ts';

class SimulatedApiDown extends InstepError {
  readonly code = 'STRIPE_API_FAILED';
}

type Clock = {
  readonly history: History;
  /** The events that the API lists, possibly in another version's format; `null` when they are too old. */
  readonly listed: History | null;
  nowMs: number;
};

/** A call takes a moment, so that an answer is dated a second earlier (`lastShownSecond`). */
const TOOK_MS = 1;

/** Makes every response seem to arrive a while after the last event. */
const CLOCK_MARGIN_SECONDS = 10;

/**
 * Stripe's API for several worlds. Each customer has its own clock. While the API is down, every
 * call throws `SimulatedApiDown`.
 */
export class SimulatedApi {
  readonly #clocks = new Map<string, Clock>();
  isDown = false;

  add(history: History, listed: History | null = null): void {
    const clock = { history, listed, nowMs: 0 };
    for (const { subscriptionId } of history.events) this.#clocks.set(subscriptionId, clock);
  }

  remove(history: History): void {
    for (const { subscriptionId } of history.events) this.#clocks.delete(subscriptionId);
  }

  /** Advances the customer's clock to the end of this second. */
  advanceTo(subscriptionId: string, atMs: number): void {
    const clock = this.#clocks.get(subscriptionId);
    if (clock === undefined) return;
    clock.nowMs = Math.max(clock.nowMs, Math.floor(atMs / 1_000) * 1_000 + 999);
  }

  /** Advances all clocks past the last event. */
  advanceToEnd(): void {
    for (const clock of this.#clocks.values()) clock.nowMs = END_OF_TIME_MS;
  }

  readonly retrieveSubscription = async (subscriptionId: string) => {
    this.#check();
    const clock = this.#clocks.get(subscriptionId);
    const body = clock?.history.stateAt(subscriptionId, clock.nowMs) ?? null;
    if (clock === undefined || body === null) return null;
    // The clock stands at the end of the second of the last event.
    return {
      body,
      answeredSeconds: Math.floor(clock.nowMs / 1_000) + CLOCK_MARGIN_SECONDS,
      tookMs: TOOK_MS,
    };
  };

  /** The Checkout Session of a subscription, as it is at the time of the redirect. */
  checkoutOf(
    { customerId, stateAt }: History,
    { subscriptionId, atMs }: Redirect,
  ): Pick<StripeApi, 'retrieveCheckoutSession'> {
    return {
      retrieveCheckoutSession: async () => {
        const subscription = stateAt(subscriptionId, atMs);
        const body = {
          status: 'complete',
          mode: 'subscription',
          customer: customerId,
          subscription,
        };
        return { body, answeredSeconds: Math.floor(atMs / 1_000), tookMs: TOOK_MS };
      },
    };
  }

  readonly retrieveProductName = async (productId: string): Promise<string | null> => {
    this.#check();
    return PRODUCTS.find(({ id }) => id === productId)?.name ?? null;
  };

  readonly listEvents: StripeApi['listEvents'] = async ({ createdSeconds, cursor }) => {
    this.#check();
    const happened = [...new Set(this.#clocks.values())].flatMap(({ listed, nowMs }) =>
      (listed?.events ?? []).filter(({ atMs }) => atMs <= nowMs),
    );
    const events = happened.map(({ body }): ApiObject => JSON.parse(body));
    return pageOf('event', events, { 'created[gte]': String(createdSeconds) }, cursor);
  };

  readonly listSubscriptions: StripeApi['listSubscriptions'] = async ({ customerId, cursor }) => {
    this.#check();
    const subscriptions = [...this.#clocks].flatMap(([id, { history, nowMs }]): ApiObject[] => {
      const object = history.stateAt(id, nowMs);
      return object === null ? [] : [{ ...object, id }];
    });
    const ofCustomer = subscriptions.filter(({ customer }) => customer === customerId);
    return pageOf('subscription', ofCustomer, { status: 'all' }, cursor);
  };

  readonly retrieveCustomer: StripeApi['retrieveCustomer'] = async () => {
    this.#check();
    return null;
  };

  #check(): void {
    if (this.isDown) throw new SimulatedApiDown('the simulated API is down');
  }
}

/** The year 2100. */
const END_OF_TIME_MS = 4_102_444_800_000;

function pageOf(
  kind: string,
  objects: readonly ApiObject[],
  filter: Readonly<Record<string, string>>,
  cursor: string | null,
): StripePage {
  const page = { limit: '100', ...(cursor !== null && { starting_after: cursor }) };
  const parameters = new URLSearchParams({ ...filter, ...page });
  const { body } = listObjects(new ApiCollection(objects), kind, parameters);
  const { data, has_more } = body as { data: Json[]; has_more: boolean };
  return {
    objects: data,
    hasMore: has_more,
    answeredSeconds: END_OF_TIME_MS / 1_000,
    tookMs: TOOK_MS,
  };
}
