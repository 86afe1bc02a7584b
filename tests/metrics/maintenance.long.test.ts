import { type FakeStripeAccount, startFakeStripeApi } from 'instep/testing';
import { afterAll, expect, test, vi } from 'vitest';
import { openMetrics } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const account: { -readonly [Name in keyof FakeStripeAccount]: FakeStripeAccount[Name] } = {
  productNames: { prod_pro: 'Pro' },
};
const api = await startFakeStripeApi(account);
afterAll(() => api.close());
const service = await openMetrics({ STRIPE_API_BASE: api.url });

const PRODUCT = '/v1/products/{id}';
const called = (path: string, result: string) =>
  service.value(`instep_stripe_api_call_duration_seconds_count{path="${path}",result="${result}"}`);
const ran = (job: string, result: string) =>
  service.value(`instep_maintenance_run_duration_seconds_count{job="${job}",result="${result}"}`);

test('the runs of each job are counted', async () => {
  await vi.waitFor(async () => {
    for (const job of ['parked-events', 'ambiguous-order', 'catch-up', 'retention']) {
      expect(await ran(job, 'done')).toBeGreaterThan(0);
      expect(await ran(job, 'failed')).toBe(0);
    }
  }, 20_000);
});

test('API calls are counted by path and result', async () => {
  const { customerId } = await service.addTeam();
  await service.post(eventBody({ customerId, productId: 'prod_pro' }));
  expect(await called(PRODUCT, 'done')).toBe(1);
  expect(await called('/v1/events', 'done')).toBeGreaterThan(0);

  account.isDown = true;
  await service.post(eventBody({ customerId, productId: 'prod_new' }));
  expect(await called(PRODUCT, '503')).toBeGreaterThan(0);
  await vi.waitFor(
    async () => expect(await ran('product-names', 'failed')).toBeGreaterThan(0),
    20_000,
  );
  expect(await ran('parked-events', 'failed')).toBe(0);

  await api.close();
  await service.post(eventBody({ customerId, productId: 'prod_newer' }));
  expect(await called(PRODUCT, 'no answer')).toBeGreaterThan(0);
});
