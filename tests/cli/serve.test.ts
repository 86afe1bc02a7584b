import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { migrate } from '../support/internals/database.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import {
  connect,
  createEmptyDatabase,
  createMigratedDatabase,
} from '../support/postgres/test-database.ts';
import { freePort } from '../support/process/free-port.ts';
import {
  runInstep,
  SETTINGS,
  spawnInstep,
  startInstep,
} from '../support/process/instep-process.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';

const url = await createMigratedDatabase();

/** The output of a server that can't start: one line on standard error, without a stack trace. */
async function refusalOf(environment: Record<string, string>): Promise<string> {
  const settings = { ...SETTINGS, DATABASE_URL: url.href, ...environment };
  const { code, stderr } = await runInstep(['serve'], settings);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^instep: .*\n(?:→ .*\n)?$/);
  return stderr;
}

const holder = createServer().listen(0, '127.0.0.1');
await once(holder, 'listening');
afterAll(() => holder.close());
const takenPort = String((holder.address() as AddressInfo).port);

test.each(['PORT', 'OPS_PORT'])(
  '%s that is taken exits with 1 and a remedy, before it migrates',
  async (variable) => {
    const empty = await createEmptyDatabase();
    const ports = { OPS_PORT: '0', [variable]: takenPort };
    expect(await refusalOf({ DATABASE_URL: empty.href, ...ports })).toBe(
      `instep: listening on 127.0.0.1:${takenPort} is taken: set ${variable} to another [LISTEN_FAILED]\n`,
    );
    const database = connect(empty);
    expect(await database.query(`select from pg_namespace where nspname = 'instep'`)).toEqual([]);
  },
);

test('an address of another machine exits with 1', async () => {
  expect(await refusalOf({ HOST: '192.0.2.1' })).toMatch(/192\.0\.2\.1:0 failed: .*EADDRNOTAVAIL/);
});

test('waits for a database that starts a moment later, and answers 503 until then', async () => {
  const proxy = await startProxy(url);
  await proxy.become('refuse');
  const PORT = String(await freePort());
  const instep = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL: proxy.url.href, PORT });
  await instep.writes(/"level":"warn".*DATABASE_UNAVAILABLE.*"waiting for the database"/);
  const origin = `http://127.0.0.1:${PORT}`;
  const cookie = await sessionCookie(1);
  for (const [path, init] of [
    ['/readyz', {}],
    ['/api/user', { headers: { cookie } }],
    ['/api/stripe/webhook', { method: 'POST', body: '{}' }],
  ] as const) {
    const response = await fetch(origin + path, init);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('5');
    expect(await response.text()).toContain('Temporarily unavailable. Try again.');
  }
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  expect(instep.stdout).not.toContain('"listening"');
  await proxy.become('forward');
  await instep.writes(/"listening"/);
  expect(instep.stdout.match(/waiting for the database/g)).toHaveLength(1);
  expect(instep.stdout).toContain('"advice":"check that it is running');
  expect((await fetch(`${origin}/readyz`)).status).toBe(200);
  expect((await fetch(`${origin}/api/user`)).status).toBe(200);
  expect(await instep.stop('SIGTERM')).toBe(0);
  await proxy.close();
});

test("two servers that start at the same time beside a new app's tables both serve", async () => {
  const empty = await createEmptyDatabase();
  const DATABASE_URL = empty.href;
  const database = connect(empty);
  await migrate(database);
  await database.query('drop schema instep cascade');
  const both = await Promise.all([startInstep({ DATABASE_URL }), startInstep({ DATABASE_URL })]);
  for (const instep of both) {
    expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);
    expect(await instep.stop()).toBe(0);
  }
});

test('a database that can not be used is said with what to check', async () => {
  const missing = new URL(url);
  missing.pathname = '/no_such';
  const { stderr } = await runInstep(['team', 'list'], { DATABASE_URL: missing.href });
  expect(stderr).toMatch(/^instep: .*\[DATABASE_UNUSABLE\]\n→ check that it is running/);
  const DATABASE_URL = 'postgres://user:a#b@127.0.0.1/app';
  const malformed = await runInstep(['team', 'list'], { DATABASE_URL });
  expect(malformed.stderr).toContain('in a password, write @ as %40');
});
