import { expect, test } from 'vitest';
import { createEmptyDatabase, createMigratedDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS, spawnInstep } from '../support/process/instep-process.ts';

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
