import { afterAll, expect, test, vi } from 'vitest';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { openMetrics } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

let proxy: TcpProxy;
const service = await openMetrics({ REQUEST_DEADLINE_MS: '2000' }, async (databaseUrl) => {
  proxy = await startProxy(databaseUrl);
  return proxy.url;
});
afterAll(() => proxy?.close());

const OUT_OF_SYNC = [
  'instep_issues{code="parked-events"}',
  'instep_issues{code="unknown-order"}',
  'instep_issues{code="products-without-name"}',
];

/** Waits for these values: the database is read every three seconds at most. */
async function untilShown(values: Readonly<Record<string, number | undefined>>): Promise<void> {
  const look = async () => {
    const shown = await service.values();
    const found = Object.fromEntries(Object.keys(values).map((name) => [name, shown.get(name)]));
    expect(found).toEqual(values);
  };
  await vi.waitFor(look, { timeout: 20_000, interval: 200 });
}

test('shows zeros while everything is in sync, and then what is not', async () => {
  await untilShown({
    ...Object.fromEntries(OUT_OF_SYNC.map((name) => [name, 0])),
    instep_database_up: 1,
  });
  const { customerId } = await service.addTeam();
  await service.post(eventBody({ customerId: 'cus_nobody' }));
  await service.post(eventBody({ customerId, productId: 'prod_nameless' }));
  // Nothing shows which of these came last.
  for (const status of ['active', 'unpaid']) {
    const event = { customerId, subscriptionId: 'sub_2', createdSeconds: 1_700_000_000, status };
    await service.post(eventBody(event));
  }
  await service.database.query('update instep.products set looked_up_at = now()');
  await untilShown(Object.fromEntries(OUT_OF_SYNC.map((name) => [name, 1])));
});

test.each(['refuse', 'swallow'] as const)(
  'shows everything else while the database does not answer (%s)',
  async (behavior) => {
    await proxy.become(behavior);
    const absent = Object.fromEntries(OUT_OF_SYNC.map((name) => [name, undefined]));
    await untilShown({ ...absent, instep_database_up: 0 });
    const answered = 'instep_http_request_duration_seconds_count{route="/api/stripe/webhook"';
    expect(await service.value(`${answered},status="200"}`)).toBe(4);
    await proxy.become('forward');
    await untilShown({ instep_database_up: 1, 'instep_issues{code="parked-events"}': 1 });
  },
);
