import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { useService } from '../support/service/contract-service.ts';

let proxy: TcpProxy;
const service = useService({}, async (databaseUrl) => {
  proxy = await startProxy(databaseUrl);
  return proxy.url;
});
afterAll(() => proxy?.close());

const WAIT = { timeout: 15_000, interval: 200 };

/** A balancer does not wait for long. */
const get = (path: string) => fetch(service.url + path, { signal: AbortSignal.timeout(4_000) });

async function expectReady(): Promise<void> {
  const response = await get('/readyz');
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: 'ready' });
}

/** The answer to `/readyz` holds for a second. */
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

/** The server repairs itself. */
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

test.each(['refuse', 'reset', 'swallow'] as const)(
  'answers 503 while the database is unreachable: %s',
  async (behaviour) => {
    await proxy.become(behaviour);
    await expectNotReady();
    await proxy.become('forward');
  },
);

test('answers 503 while the database lacks a migration', async () => {
  const [last] = await service.database.query<{ version: number; name: string }>(
    `delete from instep.migrations
      where version = (select max(version) from instep.migrations)
     returning version, name`,
  );
  await expectNotReady();
  await service.database.query('insert into instep.migrations (version, name) values ($1, $2)', [
    last?.version,
    last?.name,
  ]);
});

test('answers 503 while the database is newer than the program', async () => {
  const insert = `insert into instep.migrations (version, name) values (9999, 'of tomorrow')`;
  await service.database.query(insert);
  await expectNotReady();
  await service.database.query('delete from instep.migrations where version = 9999');
});

test('answers 503 while the tables of Instep are gone', async () => {
  await service.database.query('alter schema instep rename to elsewhere');
  await expectNotReady();
  await service.database.query('alter schema elsewhere rename to instep');
});
