import { ApiCollection, type SubscriptionEventFields, startFakeStripeApi } from 'instep/testing';
import { afterAll } from 'vitest';
import { addTeam } from '../internals/rows.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { startInstep } from '../process/instep-process.ts';
import { eventBody } from '../stripe/events.ts';

type Environment = Readonly<Record<string, string>>;

/** A real server with its console, its own database and a stand-in for Stripe, per test file. */
export async function openBrowsedInstep(environment: Environment = {}) {
  const subscriptions = new ApiCollection();
  const stripe = await startFakeStripeApi({ productNames: { prod_pro: 'Pro' }, subscriptions });
  const { url: databaseUrl, database } = await createDatabase();
  const addresses = { DATABASE_URL: databaseUrl.href, STRIPE_API_BASE: stripe.url };
  const server = await startInstep({ ...addresses, OPS_PORT: '0', ...environment });
  const { url } = await server.logged({ msg: 'operations listening' });
  afterAll(async () => {
    await server.stop();
    await stripe.close();
  });

  /** Signs a body and posts it as Stripe does. */
  async function post(body: string): Promise<void> {
    const response = await server.post(body);
    if (response.status !== 200) throw new Error(`answered ${response.status}`);
  }

  return {
    /** The address of the console. */
    url: String(url),
    database,
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
