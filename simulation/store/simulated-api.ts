import type { Json } from '../../src/core/json.ts';
import { InstepError } from '../../src/runtime/errors.ts';
import type { StripeApi, StripePage } from '../../src/stripe/api.ts';
import type { History } from '../../src/testing/lifecycle/history.ts';
import type { JsonObject } from '../../src/testing/lifecycle/json.ts';
import { PRODUCTS } from '../../src/testing/lifecycle/subscription.ts';
import { type ApiObject, Collection } from '../../src/testing/stripe-api/collection.ts';
import { listObjects } from '../../src/testing/stripe-api/list.ts';

/** The simulated API does not answer. */
export class ApiOut extends InstepError {
  readonly code = 'STRIPE_API_FAILED';
}

type Clock = {
  readonly history: History;
  /** What the API lists, in the words of its own version; nothing of what is too old. */
  readonly listed: History | null;
  nowMs: number;
};

/** The provider's API, for several worlds, each customer of which has a clock of its own. */
export class Account {
  readonly #clocks = new Map<string, Clock>();
  isOut = false;

  add(history: History, listed: History | null = null): void {
    const clock = { history, listed, nowMs: 0 };
    for (const { subscriptionId } of history.events) this.#clocks.set(subscriptionId, clock);
  }

  /** Forgets a history that is over and done with. */
  remove(history: History): void {
    for (const { subscriptionId } of history.events) this.#clocks.delete(subscriptionId);
  }

  /** Whatever was delivered at this time has happened, and so has all of its second. */
  tell(subscriptionId: string, atMs: number): void {
    const clock = this.#clocks.get(subscriptionId);
    if (clock === undefined) return;
    clock.nowMs = Math.max(clock.nowMs, Math.floor(atMs / 1_000) * 1_000 + 999);
  }

  /** Everything has happened. */
  end(): void {
    for (const clock of this.#clocks.values()) clock.nowMs = END_OF_TIME_MS;
  }

  /** @throws ApiOut */
  async retrieveSubscription(subscriptionId: string): Promise<JsonObject | null> {
    this.#checkIn();
    const clock = this.#clocks.get(subscriptionId);
    return clock?.history.view(subscriptionId, clock.nowMs) ?? null;
  }

  /** @throws ApiOut */
  async retrieveProductName(productId: string): Promise<string | null> {
    this.#checkIn();
    return PRODUCTS.find(({ id }) => id === productId)?.name ?? null;
  }

  /** @throws ApiOut */
  readonly listEvents: StripeApi['listEvents'] = async ({ createdSeconds, cursor }) => {
    this.#checkIn();
    const happened = [...new Set(this.#clocks.values())].flatMap(({ listed, nowMs }) =>
      (listed?.events ?? []).filter(({ atMs }) => atMs <= nowMs),
    );
    const events = happened.map(({ body }): ApiObject => JSON.parse(body));
    return pageOf('event', events, { 'created[gte]': String(createdSeconds) }, cursor);
  };

  /** Those of which any event tells. @throws ApiOut */
  readonly listSubscriptions: StripeApi['listSubscriptions'] = async ({ customerId, cursor }) => {
    this.#checkIn();
    const shown = [...this.#clocks].flatMap(([id, { history, nowMs }]): ApiObject[] => {
      const object = history.view(id, nowMs);
      return object === null ? [] : [{ ...object, id }];
    });
    const ofCustomer = shown.filter(({ customer }) => customer === customerId);
    return pageOf('subscription', ofCustomer, { status: 'all' }, cursor);
  };

  /** @throws ApiOut */
  readonly listCustomers: StripeApi['listCustomers'] = async ({ cursor }) => {
    this.#checkIn();
    const ids = new Set([...this.#clocks.values()].map(({ history }) => history.customerId));
    return pageOf(
      'customer',
      [...ids].map((id) => ({ id })),
      {},
      cursor,
    );
  };

  #checkIn(): void {
    if (this.isOut) throw new ApiOut('the simulated API is out');
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
  const place = { limit: '100', ...(cursor !== null && { starting_after: cursor }) };
  const parameters = new URLSearchParams({ ...filter, ...place });
  const { body } = listObjects(new Collection(objects), kind, parameters, { productNames: {} });
  const { data, has_more } = body as { data: Json[]; has_more: boolean };
  return { objects: data, hasMore: has_more, answeredSeconds: END_OF_TIME_MS / 1_000 };
}
