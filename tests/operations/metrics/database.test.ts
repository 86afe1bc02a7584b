import { afterAll, expect, test, vi } from 'vitest';
import { startProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { useMetrics } from '../../support/service/metrics-service.ts';
import { eventBody } from '../../support/stripe/events.ts';

let proxy: TcpProxy;
const service = useMetrics({ REQUEST_DEADLINE_MS: '2000' }, async (databaseUrl) => {
  proxy = await startProxy(databaseUrl);
  return proxy.url;
});
afterAll(() => proxy?.close());

const OUT_OF_STEP = [
  'instep_parked_events',
  'instep_known_customer_parked_events',
  'instep_ambiguous_subscriptions',
  'instep_nameless_products',
];

/** Waits until the figures are these: what the database says is not read at every moment. */
async function untilShown(figures: Readonly<Record<string, number | undefined>>): Promise<void> {
  const look = async () => {
    const shown = await service.figures();
    const found = Object.fromEntries(Object.keys(figures).map((name) => [name, shown.get(name)]));
    expect(found).toEqual(figures);
  };
  await vi.waitFor(look, { timeout: 20_000, interval: 200 });
}

test('while nothing is out of step, zeros are shown, and of no event no age', async () => {
  await untilShown({
    ...Object.fromEntries(OUT_OF_STEP.map((name) => [name, 0])),
    instep_last_event_age_seconds: undefined,
    instep_database_up: 1,
  });
});

test('what is out of step is shown', async () => {
  const { customerId } = await service.addTeam();
  await service.post(eventBody({ customerId: 'cus_nobody' }));
  await service.post(eventBody({ customerId, productId: 'prod_nameless' }));
  await service.database.query(
    'update instep.subscriptions set is_order_ambiguous = true where customer_id = $1',
    [customerId],
  );
  await untilShown({
    instep_parked_events: 1,
    instep_ambiguous_subscriptions: 1,
    instep_nameless_products: 1,
  });
  expect(await service.figure('instep_last_event_age_seconds')).toBeLessThan(60);
});

test('a subscription that became uncertain a moment ago is not yet out of step', async () => {
  await service.database.query('update instep.subscriptions set created_at = now()');
  await untilShown({ instep_ambiguous_subscriptions: 0 });
});

test('the connections are shown, and who waits for one', async () => {
  const figures = await service.figures();
  expect(figures.get('instep_database_connections{state="idle"}')).toBeGreaterThan(0);
  expect(figures.get('instep_database_connections{state="busy"}')).toBeGreaterThanOrEqual(0);
  expect(figures.get('instep_database_connection_waiters')).toBe(0);
});

test.each(['refuse', 'swallow'] as const)(
  'while the database is away (%s), all else is shown as ever',
  async (behaviour) => {
    await proxy.become(behaviour);
    const absent = Object.fromEntries(OUT_OF_STEP.map((name) => [name, undefined]));
    await untilShown({ ...absent, instep_database_up: 0 });
    const answered = 'instep_http_request_duration_seconds_count{route="/api/stripe/webhook"';
    expect(await service.figure(`${answered},status="200"}`)).toBe(2);
    await proxy.become('forward');
    await untilShown({ instep_database_up: 1, instep_parked_events: 1 });
  },
);

test('parked events of a customer whom a team had before are told apart', async () => {
  const { teamId, customerId } = await service.addTeam();
  await service.post(eventBody({ customerId, createdSeconds: 100 }));
  await service.database.query('delete from teams where id = $1', [teamId]);
  await service.post(eventBody({ customerId, createdSeconds: 200 }));
  await untilShown({ instep_parked_events: 2, instep_known_customer_parked_events: 1 });
});
