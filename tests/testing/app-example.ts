import { createLogger, openInstep, readConfig } from 'instep';
import { createSubscriptionEvent, signedRequest, startFakeStripeApi } from 'instep/testing';
import { expect, test } from 'vitest';

test('a signed event gives the team its plan', async () => {
  const stripe = await startFakeStripeApi({ productNames: { prod_pro: 'Pro' } });
  const instep = await openInstep({
    config: readConfig({
      DATABASE_URL: process.env.TEST_DATABASE_URL,
      STRIPE_API_BASE: stripe.url,
      STRIPE_SECRET_KEY: 'sk_test_example',
      STRIPE_WEBHOOK_SECRET: 'whsec_example',
      AUTH_SECRET: 'a secret of at least 32 characters',
    }),
    logger: createLogger('silent'),
  });
  await instep.query("insert into teams (name, provider_customer_id) values ('Acme', 'cus_1')");

  const event = createSubscriptionEvent({ customerId: 'cus_1', productId: 'prod_pro' });
  const url = 'http://localhost/api/stripe/webhook';
  const response = await instep.fetch(new Request(url, signedRequest(event, 'whsec_example')));

  expect(response.status).toBe(200);
  const teams = await instep.query('select plan_name, subscription_status from teams');
  expect(teams).toEqual([{ plan_name: 'Pro', subscription_status: 'active' }]);
  await instep.close();
  await stripe.close();
}, 30_000);
