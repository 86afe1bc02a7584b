import { createLogger } from 'instep';
import { afterEach, expect, test, vi } from 'vitest';
import { ReadinessEndpoint } from '../support/internals/server.ts';
import { migrateByNewer, undoNewer } from '../support/postgres/test-database.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

const WAIT = { timeout: 15_000, interval: 200 };

/** A load balancer does not wait for long. */
const get = (path: string) => fetch(service.url + path, { signal: AbortSignal.timeout(4_000) });

async function expectReady(): Promise<void> {
  const response = await get('/readyz');
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: 'ready' });
}

/** A result of `/readyz` is valid for a second. */
async function expectNotReady(): Promise<void> {
  const response = await vi.waitFor(async () => {
    const response = await get('/readyz');
    expect(response.status).toBe(503);
    return response;
  }, WAIT);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(await response.json()).toEqual({ error: 'Temporarily unavailable. Try again.' });
  expect((await get('/healthz')).status).toBe(200);
}

/** Checks that the server recovers by itself. */
afterEach(async () => {
  await vi.waitFor(expectReady, WAIT);
});

test('answers 200 while the process is alive and ready', async () => {
  await expectReady();
  const response = await get('/healthz');
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await response.json()).toEqual({ status: 'ok' });
});

test('answers 503 while the database lacks a migration', async () => {
  const { query } = service.database;
  await query('create table public.ledger as select * from instep.migrations');
  await query('delete from instep.migrations');
  await expectNotReady();
  await query('insert into instep.migrations select * from public.ledger');
});

test('answers 503 if a newer version has changed the tables that this one needs, and serves if it has only added to them', async () => {
  await migrateByNewer(service.database, 'breaking');
  await expectNotReady();
  await undoNewer(service.database);
  await migrateByNewer(service.database, 'additive');
  await vi.waitFor(expectReady, WAIT);
  const { teamId, customerId } = await service.addTeam();
  expect((await service.postSigned(eventBody({ customerId }))).status).toBe(200);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  await undoNewer(service.database);
});

test('answers 503 while the tables of Instep are gone', async () => {
  await service.database.query('alter schema instep rename to elsewhere');
  await expectNotReady();
  await service.database.query('alter schema elsewhere rename to instep');
});

test('checks the database once a second, regardless of the number of requests', async () => {
  let checks = 0;
  const endpoint = new ReadinessEndpoint({
    isShuttingDown: () => false,
    async checkDatabase() {
      checks += 1;
    },
    logger: createLogger('silent'),
  });
  vi.useFakeTimers();
  try {
    for (let count = 0; count < 100; count += 1) {
      expect(await endpoint.handle()).toMatchObject({ status: 200 });
    }
    expect(checks).toBe(1);
    vi.advanceTimersByTime(1_000);
    await Promise.all(Array.from({ length: 100 }, () => endpoint.handle()));
    expect(checks).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});
