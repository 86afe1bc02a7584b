import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import {
  runInstep,
  SETTINGS,
  spawnInstep,
  startInstep,
} from '../support/process/instep-process.ts';

let url: URL;
beforeAll(async () => {
  url = await createEmptyDatabase();
});

/** What a server that cannot start says: one line on standard error, and no stack. */
async function refusalOf(environment: Record<string, string>): Promise<string> {
  const settings = { ...SETTINGS, DATABASE_URL: url.href, ...environment };
  const { code, stderr } = await runInstep(['serve'], settings);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^instep: .*\n$/);
  return stderr;
}

const holder = createServer().listen(0, '127.0.0.1');
afterAll(() => holder.close());

test('a port that is taken exits with 1 and a remedy', async () => {
  if (!holder.listening) await once(holder, 'listening');
  const PORT = String((holder.address() as AddressInfo).port);
  expect(await refusalOf({ PORT })).toBe(
    `instep: listening on 127.0.0.1:${PORT} is taken: set PORT to another [LISTEN_FAILED]\n`,
  );
});

test('an address of another machine exits with 1', async () => {
  expect(await refusalOf({ HOST: '192.0.2.1' })).toMatch(/192\.0\.2\.1:0 failed: .*EADDRNOTAVAIL/);
});

test('an unknown database exits with 1 at once', async () => {
  const missing = new URL(url);
  missing.pathname = '/no_such';
  expect(await refusalOf({ DATABASE_URL: missing.href })).toContain('"no_such" does not exist');
});

test('a newer schema exits with 1 at once', async () => {
  const newer = await createEmptyDatabase();
  const database = connect(newer);
  await migrate(database);
  await database.query(`insert into instep.migrations (version, name) values (9999, 'tomorrow')`);
  await database.close();
  expect(await refusalOf({ DATABASE_URL: newer.href })).toContain('run the newer Instep');
});

test('waits for a database that starts a moment later', async () => {
  const proxy = await startProxy(url);
  await proxy.become('refuse');
  const instep = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL: proxy.url.href });
  await instep.writes(/"level":"warn".*DATABASE_UNAVAILABLE.*"waiting for the database"/);
  await proxy.become('forward');
  await instep.writes(/"listening"/);
  expect(await instep.stop('SIGTERM')).toBe(0);
  await proxy.close();
});

test('two servers that start at the same time on an empty database both serve', async () => {
  const DATABASE_URL = (await createEmptyDatabase()).href;
  const both = await Promise.all([startInstep({ DATABASE_URL }), startInstep({ DATABASE_URL })]);
  for (const instep of both) {
    expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);
    expect(await instep.stop()).toBe(0);
  }
});
