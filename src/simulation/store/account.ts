import { InstepError } from '../../errors.ts';
import type { History } from '../provider/history.ts';
import type { JsonObject } from '../provider/json.ts';
import { PRODUCTS } from '../provider/subscription.ts';

/** The simulated API does not answer. */
export class ApiOut extends InstepError {
  readonly code = 'API_OUT';
}

/** The provider's API, for several worlds, each of which has a clock of its own. */
export class Account {
  readonly #clocks = new Map<string, { readonly history: History; nowMs: number }>();
  isOut = false;

  add(history: History): void {
    const clock = { history, nowMs: 0 };
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

  /** @throws ApiOut */
  async retrieveSubscription(subscriptionId: string): Promise<JsonObject | null> {
    if (this.isOut) throw new ApiOut('the simulated API is out');
    const clock = this.#clocks.get(subscriptionId);
    return clock?.history.view(subscriptionId, clock.nowMs) ?? null;
  }

  /** @throws ApiOut */
  async retrieveProductName(productId: string): Promise<string | null> {
    if (this.isOut) throw new ApiOut('the simulated API is out');
    return PRODUCTS.find(({ id }) => id === productId)?.name ?? null;
  }
}
