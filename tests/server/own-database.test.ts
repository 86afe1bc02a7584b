import { createLogger, openInstep, readConfig } from 'instep';
import { afterAll, expect, test, vi } from 'vitest';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';

const WAIT = { timeout: 30_000, interval: 200 };

const cluster = await PostgresCluster.create();
afterAll(() => cluster.remove());
await cluster.start();
const environment = { ...SETTINGS, DATABASE_URL: cluster.url.href };
await runInstep(['migrate', '--create-tables'], environment);
const instep = await openInstep({
  config: readConfig(environment),
  logger: createLogger('silent'),
  // Its writes would fail first, and close the connections.
  maintenance: 'off',
});
afterAll(() => instep.close());

async function set(setting: string): Promise<void> {
  await cluster.ask(`alter system set ${setting}`);
  await cluster.ask('select pg_reload_conf()');
}

async function untilStatus(path: string, status: number): Promise<void> {
  const get = async () => (await instep.fetch(new Request(`http://localhost${path}`))).status;
  await vi.waitFor(async () => expect(await get()).toBe(status), WAIT);
}

test('/readyz answers 503 while the server accepts no writes, on open connections too, and /healthz 200', async () => {
  await untilStatus('/readyz', 200);
  await set('default_transaction_read_only = on');
  await untilStatus('/readyz', 503);
  await untilStatus('/healthz', 200);
  await set('default_transaction_read_only = off');
  await untilStatus('/readyz', 200);
});

test('exits in time while its database is frozen', async () => {
  const instep = await startInstep(environment);
  expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);
  const thaw = await cluster.freeze();
  const hanging = setTimeout(() => instep.process.kill('SIGKILL'), 15_000);
  expect(await instep.stop('SIGTERM')).toBe(0);
  clearTimeout(hanging);
  thaw();
});
