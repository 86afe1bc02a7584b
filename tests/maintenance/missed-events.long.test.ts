import type { ApplicationId } from 'instep';
import { ApiCollection, startFakeStripeApi } from 'instep/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { startInstep } from '../support/process/instep-process.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const LINK = 'update teams set provider_customer_id = $2 where id = $1';

const nowSeconds = Math.floor(Date.now() / 1_000);
const eventOf = (customerId: string) =>
  JSON.parse(eventBody({ customerId, createdSeconds: nowSeconds }));

const events = new ApiCollection([eventOf('cus_missed_before')]);
const api = await startFakeStripeApi({ productNames: {}, events });
afterAll(() => api.close());

let proxy: TcpProxy;
const service = useService(
  { STRIPE_API_BASE: api.url, LOG_LEVEL: 'debug' },
  async (databaseUrl) => {
    proxy = await startProxy(databaseUrl);
    return proxy.url;
  },
);
afterAll(() => proxy?.close());

async function eventuallyActive(teamId: ApplicationId): Promise<void> {
  const look = async () =>
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  await vi.waitFor(look, { timeout: 50_000, interval: 200 });
}

let missedBefore: ApplicationId;
beforeAll(async () => {
  const customerId = 'cus_missed_before';
  missedBefore = await addTeam(service.database.query, { name: 'Team', customerId });
});

test('missed events are found at the start', () => eventuallyActive(missedBefore));

test('missed events are found after an outage of the database', async () => {
  const { teamId, customerId } = await service.addTeam();
  await proxy.become('refuse');
  events.set(eventOf(customerId));
  await service.process.logged({ job: 'catch-up', msg: 'maintenance job failed' });
  await proxy.become('forward');
  await eventuallyActive(teamId);
});

test('missed events are not requested when CATCH_UP_INTERVAL is off', async () => {
  const paths: string[] = [];
  const onCall = (path: string) => {
    paths.push(path);
    return undefined;
  };
  const watchedApi = await startFakeStripeApi({ productNames: {}, events, onCall });
  const off = await startInstep({
    DATABASE_URL: service.databaseUrl,
    STRIPE_API_BASE: watchedApi.url,
    CATCH_UP_INTERVAL: 'off',
  });
  const teamId = await addTeam(service.database.query, { name: 'Late', customerId: null });
  const customerId = `cus_parked_${teamId}`;
  await service.postSigned(eventBody({ customerId }));
  await service.database.query(LINK, [teamId, customerId]);
  await eventuallyActive(teamId);
  expect(await off.stop()).toBe(0);
  await watchedApi.close();
  expect(paths.filter((path) => path.startsWith('/v1/events'))).toEqual([]);
});
