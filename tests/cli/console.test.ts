import { expect, test } from 'vitest';
import { createEmptyDatabase, createMigratedDatabase } from '../support/postgres/test-database.ts';
import {
  type InstepProcess,
  runInstep,
  SETTINGS,
  spawnInstep,
} from '../support/process/instep-process.ts';
import { OPERATIONS_TOKEN } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';

const { STRIPE_SECRET_KEY = '' } = SETTINGS;

test('runs the console alone, without the secrets of the two endpoints', async () => {
  const DATABASE_URL = (await createMigratedDatabase()).href;
  const instep = spawnInstep(['console'], { DATABASE_URL, STRIPE_SECRET_KEY, OPS_PORT: '0' });
  await instep.writes(/"operations listening"/);
  const [, url = ''] = /"url":"([^"]+)"/.exec(instep.stdout) ?? [];
  expect(await (await fetch(url)).text()).toContain('<h1>Overview</h1>');
  expect((await fetch(`${url}/api/user`)).status).toBe(404);
  instep.process.kill('SIGTERM');
  expect(await instep.exited).toBe(0);
});

test('says what is missing', async () => {
  const DATABASE_URL = (await createEmptyDatabase()).href;
  const settings = { DATABASE_URL, STRIPE_SECRET_KEY, OPS_PORT: '0' };
  expect((await runInstep(['console'], settings)).stderr).toContain('[SCHEMA_OUTDATED]');
  const off = await runInstep(['console'], { ...settings, OPS_PORT: 'off' });
  expect(off).toMatchObject({ code: 2, stderr: expect.stringContaining('OPS_PORT is off') });
});

const PUBLIC_ONLY = ['/api/user', '/api/stripe/webhook', '/healthz', '/readyz'];
const OPERATORS_ONLY = ['/', '/login', '/logout', '/metrics', '/assets/style.css'];

/** The address of the operators' pages, once they are available. */
async function operationsOf(process: InstepProcess): Promise<string> {
  return String((await process.logged({ msg: 'operations listening' })).url);
}

const open = useService({ OPS_PORT: '0' });
const guarded = useService({ OPS_PORT: '0', OPS_HOST: '0.0.0.0', OPS_TOKEN: OPERATIONS_TOKEN });

test('operators have an address of their own, which shares no route with the public one and ends with it', async () => {
  const url = await operationsOf(open.process);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await (await fetch(url)).text()).toContain('<h1>Overview</h1>');
  for (const path of PUBLIC_ONLY) expect((await fetch(url + path)).status).toBe(404);
  for (const path of OPERATORS_ONLY) expect((await fetch(open.url + path)).status).toBe(404);
  expect(await open.process.stop()).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test('where other machines reach it, it needs OPS_TOKEN', async () => {
  const { port } = new URL(await operationsOf(guarded.process));
  const statusWith = async (headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${port}`, { headers })).status;
  const authorization = `Bearer ${OPERATIONS_TOKEN}`;
  expect(await statusWith({})).toBe(401);
  expect(await statusWith({ authorization })).toBe(200);
  expect(await statusWith({ authorization: authorization.replace('Token', 'Other') })).toBe(401);
});
