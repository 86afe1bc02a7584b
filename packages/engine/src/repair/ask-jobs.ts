// The jobs that ask Stripe about single subscriptions, products and customers: the orders of events that are ambiguous, ends
// that no event has confirmed, the names of products, and the first subscriptions of customers.

import type { Ingest } from '../log/pipeline.ts';
import { findCustomers } from '../postgres/examine.ts';
import type { NamedStatement } from '../postgres/statement.ts';
import { writeProductName } from '../postgres/statements/products.ts';
import { END_MARGIN_SECONDS } from '../rule/access-facts.ts';
import type { StripeApi } from '../stripe/api.ts';
import { lastShownSecond } from '../stripe/api-call.ts';
import { unlessRefused } from '../stripe/api-failure.ts';
import { parseListedSubscription } from '../stripe/subscription-snapshot.ts';
import { askForOrder } from './ambiguous-order.ts';
import { CUSTOMERS_TO_ASK, NEW_CUSTOMERS } from './asked-customers.ts';
import { snapshotOf } from './reconcile/compare-customer.ts';
import { createRepairJob, dueIn, HAS_TEAM, type Repair, type RepairOptions } from './repair-job.ts';
import type { Job } from './worker.ts';

type AskOptions = RepairOptions & {
  readonly ingest: Ingest;
  readonly api: Pick<StripeApi, 'retrieveSubscription' | 'retrieveProductName'>;
  readonly now: () => number;
  readonly nonce: () => string;
  /** Compares a customer of whom no subscription is known; `null`: teams are not compared. */
  readonly compareNew: ((customerId: string, signal: AbortSignal) => Promise<unknown>) | null;
};

export const NEW_CUSTOMERS_JOB = 'new-customers';

/** A run takes a few seconds. */
const ASKED_AT_ONCE = { limit: 20, longestRestMs: 60 * 60 * 1_000 };

export function createAskJobs(options: AskOptions): Job[] {
  const { query, api, compareNew } = options;
  const { retrieveSubscription } = api;
  const asks: Pick<Repair, 'name' | 'find' | 'repair'>[] = [
    {
      name: 'ambiguous-order',
      find: dueIn(query, AMBIGUOUS),
      async repair(subscriptionId, signal) {
        await askForOrder(subscriptionId, { ...options, retrieveSubscription }, signal);
        return false;
      },
    },
    {
      name: 'unconfirmed-ends',
      find: dueIn(query, UNCONFIRMED_ENDS),
      async repair(subscriptionId, signal) {
        await ingestCurrent(subscriptionId, options, signal);
        return false;
      },
    },
    {
      name: 'product-names',
      find: dueIn(query, NAMELESS_PRODUCTS),
      async repair(productId, signal) {
        // If Stripe refuses the id, there is no name.
        const name = await unlessRefused(api.retrieveProductName(productId, signal));
        await writeProductName(query, productId, name);
        return false;
      },
    },
  ];
  if (compareNew !== null) {
    // The table says when to ask about a customer again.
    const repair = async (customerId: string, signal: AbortSignal) => {
      await compareNew(customerId, signal);
      return true;
    };
    asks.push(
      {
        name: NEW_CUSTOMERS_JOB,
        find: (page) => findCustomers(query, NEW_CUSTOMERS, page),
        repair,
      },
      { name: 'first-subscriptions', find: dueIn(query, CUSTOMERS_TO_ASK), repair },
    );
  }
  return asks.map((ask) => createRepairJob({ ...ask, ...ASKED_AT_ONCE }, options));
}

/** Events of the last seconds are left out, so that Stripe's answer includes all of their second. */
const AMBIGUOUS: NamedStatement = {
  name: 'read_ambiguous',
  text: (tables) => `
      select ambiguous_subscription_id as id
        from instep.customers as customer
       where ambiguous_since < now() - interval '3 seconds'
         and ambiguous_subscription_id <> all ($1::text[])
         and ${HAS_TEAM(tables, 'customer.customer_id')}
       limit $2`,
};

const UNCONFIRMED_ENDS: NamedStatement = {
  name: 'read_unconfirmed_ends',
  text: (tables) => `
      select access_subscription_id as id
        from instep.customers as customer
       where access_ends_at < now() - interval '${END_MARGIN_SECONDS} seconds'
         and access_subscription_id <> all ($1::text[])
         and ${HAS_TEAM(tables, 'customer.customer_id')}
       limit $2`,
};

/** Products without a name, or with one that is nearly a day old. */
const NAMELESS_PRODUCTS: NamedStatement = {
  name: 'read_nameless_products',
  text: `
      with nameless as (
        select product_id as id
          from instep.products
         where name is null
            or looked_up_at < now() - interval '20 hours'
         union
        select provider_product_id
          from instep.customers
         where is_nameless
           and not exists (select from instep.products where product_id = provider_product_id)
      )
      select id
        from nameless
       where id <> all ($1::text[])
       limit $2`,
};

/** Ingests a subscription as Stripe has it now. */
async function ingestCurrent(
  subscriptionId: string,
  { ingest, api, now, nonce }: AskOptions,
  signal: AbortSignal,
): Promise<void> {
  const answer = await unlessRefused(api.retrieveSubscription(subscriptionId, signal));
  if (answer === null) return;
  const asOfSeconds = lastShownSecond(answer, now());
  const listed = parseListedSubscription(answer.body, asOfSeconds);
  if (listed === null) return;
  const seconds = listed.endedSeconds ?? asOfSeconds;
  await ingest(snapshotOf({ listed, seconds }, { now, nonce }));
}
