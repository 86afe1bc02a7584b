// Whom customers stand for, as Stripe says when a page is opened. Never stored.

import { BoundedCache, withDeadline } from 'instep-engine/runtime';
import type { StripeCustomer } from 'instep-engine/stripe';
import type { OperateContext } from './context.ts';

/** The name and the address of a customer at Stripe; `null`: it has none. */
export type Person = Pick<StripeCustomer, 'name' | 'email'>;

/** Stripe is asked about a customer at most once in this time. */
const KNOWN_FOR_MS = 60_000;
const MAX_KNOWN = 1_000;

/** A person waits for the page. */
const DEADLINE_MS = 1_500;

type Asked = { readonly atMs: number; readonly customer: Promise<StripeCustomer | null> };

/** By the API, which all contexts of a process share. */
const known = new WeakMap<object, BoundedCache<string, Asked>>();

/**
 * The people behind customers, by customer. Left out are those that Stripe does not know, or about whom it does not answer in
 * time, or that the key may not read.
 *
 * @example
 * ```ts
 * const people = await readPeople(context, ['cus_123']);
 * console.log(people.get('cus_123')?.email);
 * ```
 */
export async function readPeople(
  { api, clockMs, logger }: Pick<OperateContext, 'api' | 'clockMs' | 'logger'>,
  customerIds: readonly string[],
): Promise<ReadonlyMap<string, Person>> {
  const cache = known.get(api) ?? new BoundedCache<string, Asked>(MAX_KNOWN);
  known.set(api, cache);

  function ask(id: string): Promise<StripeCustomer | null> {
    const before = cache.get(id);
    if (before !== undefined && clockMs() - before.atMs < KNOWN_FOR_MS) return before.customer;
    const customer = withDeadline(api.retrieveCustomer(id), DEADLINE_MS).catch((err: unknown) => {
      logger.debug({ customerId: id, err }, 'Stripe did not say who the customer is');
      return null;
    });
    cache.set(id, { atMs: clockMs(), customer });
    return customer;
  }

  const found = await Promise.all(customerIds.map(async (id) => [id, await ask(id)] as const));
  return new Map(found.flatMap(([id, customer]) => (customer === null ? [] : [[id, customer]])));
}
