import { afterAll, expect, test, vi } from 'vitest';
import type { StripeAccount } from '../../../src/testing/stripe-api/account.ts';
import { startStripeApiServer } from '../../../src/testing/stripe-api/server.ts';
import { useMetrics } from '../../support/service/metrics-service.ts';
import { eventBody } from '../../support/stripe/events.ts';

const account: { -readonly [Name in keyof StripeAccount]: StripeAccount[Name] } = {
  productNames: { prod_pro: 'Pro' },
};
const api = await startStripeApiServer(account);
afterAll(() => api.close());
const service = useMetrics({ STRIPE_API_BASE: api.url });

const called = (call: string, result: string) =>
  service.figure(
    `instep_stripe_api_call_duration_seconds_count{call="${call}",result="${result}"}`,
  );
const ran = (task: string, result: string) =>
  service.figure(`instep_keeper_run_duration_seconds_count{task="${task}",result="${result}"}`);

test('the runs of each task are counted', async () => {
  expect(await ran('retention', 'failed')).toBe(0);
  await vi.waitFor(async () => {
    for (const task of ['parked', 'ambiguous-order', 'product-names', 'catch-up', 'retention']) {
      expect(await ran(task, 'done')).toBeGreaterThan(0);
    }
  }, 20_000);
});

test('calls of the API are counted by what they are for and what came of them', async () => {
  const { customerId } = await service.addTeam();
  await service.post(eventBody({ customerId, productId: 'prod_pro' }));
  expect(await called('product', 'done')).toBe(1);
  expect(await called('events', 'done')).toBeGreaterThan(0);

  account.isDown = true;
  await service.post(eventBody({ customerId, productId: 'prod_new' }));
  expect(await called('product', '503')).toBeGreaterThan(0);
  await vi.waitFor(
    async () => expect(await ran('product-names', 'failed')).toBeGreaterThan(0),
    20_000,
  );
  expect(await ran('parked', 'failed')).toBe(0);

  await api.close();
  await service.post(eventBody({ customerId, productId: 'prod_newer' }));
  expect(await called('product', 'no answer')).toBeGreaterThan(0);
});
