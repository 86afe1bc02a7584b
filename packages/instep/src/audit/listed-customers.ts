// What Stripe lists of each customer, as one short text: an account can have 100,000 of them.

import { withListed } from 'instep-engine/repair';
import { type CustomerState, NO_STATE } from 'instep-engine/rule';
import type { ListedSubscription } from 'instep-engine/stripe';

/** Nothing shows when a live subscription last changed, so all of them are dated to the same second. */
const NOT_ENDED = 253_402_300_799;

export class ListedCustomers {
  /** For each customer, a line for each subscription. */
  readonly #lines = new Map<string, string>();

  add(subscriptions: readonly ListedSubscription[]): void {
    for (const one of subscriptions) {
      const { customerId, subscriptionId, status, productId, priceId, endedSeconds } = one;
      const line = JSON.stringify([subscriptionId, status, productId, priceId, endedSeconds]);
      const others = this.#lines.get(customerId);
      this.#lines.set(customerId, others === undefined ? line : `${others}\n${line}`);
    }
  }

  ids(): Iterable<string> {
    return this.#lines.keys();
  }

  /** What the subscriptions of a customer say together; `NO_STATE`: none is listed. */
  stateOf(customer: string): CustomerState {
    const lines = this.#lines.get(customer)?.split('\n') ?? [];
    return lines.reduce((state, line) => {
      const [id, status, product, price, endedSeconds] = JSON.parse(line);
      const items = { data: [{ price: { id: price, product } }] };
      const listed = { object: { id, customer, status, items } };
      return withListed(state, { listed, seconds: endedSeconds ?? NOT_ENDED });
    }, NO_STATE);
  }
}
