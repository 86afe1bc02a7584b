import {
  ApiCollection,
  type FakeStripeApi,
  type SubscriptionEventFields,
  startFakeStripeApi,
} from 'instep/testing';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../internals/database.ts';
import { addTeam } from '../internals/rows.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../process/instep-process.ts';
import { eventBody } from '../stripe/events.ts';

type Environment = Readonly<Record<string, string>>;

/** A real server with its console, its own database and a stand-in for Stripe, per test file. */
export function useBrowsedInstep(environment: Environment = {}) {
  const subscriptions = new ApiCollection();
  let stripe: FakeStripeApi;
  let database: Database;
  let server: InstepProcess;
  let url: string;

  beforeAll(async () => {
    stripe = await startFakeStripeApi({ productNames: { prod_pro: 'Pro' }, subscriptions });
    const created = await createDatabase();
    database = created.database;
    server = await startInstep({
      DATABASE_URL: created.url.href,
      STRIPE_API_BASE: stripe.url,
      OPS_PORT: '0',
      ...environment,
    });
    url = String((await server.logged({ msg: 'operations listening' })).url);
  });
  afterAll(async () => {
    await server?.stop();
    await database?.close();
    await stripe?.close();
  });

  /** Signs a body and posts it as Stripe does. */
  async function post(body: string): Promise<void> {
    const response = await server.post(body);
    if (response.status !== 200) throw new Error(`answered ${response.status}`);
  }

  return {
    /** The address of the console. */
    get url() {
      return url;
    },
    get database() {
      return database;
    },
    post,
    addTeam: (name: string, customerId: string | null = null) =>
      addTeam(database.query, { name, customerId }),

    /** Changes a subscription at Stripe. Delivers the event unless it is missed. */
    async happen(
      fields: Partial<SubscriptionEventFields>,
      delivery: 'delivered' | 'missed' = 'delivered',
    ) {
      const createdSeconds = Math.floor(Date.now() / 1_000);
      const body = eventBody({ createdSeconds, productId: 'prod_pro', ...fields });
      subscriptions.set(JSON.parse(body).data.object);
      if (delivery === 'delivered') await post(body);
    },
  };
}
