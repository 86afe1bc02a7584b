import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS, spawnInstep } from '../support/process/instep-process.ts';
import { useTakenPort } from '../support/process/taken-port.ts';

const takenPort = useTakenPort();
const TWO = { INSTEP_WORKERS: '2' };

test.each([
  ["the operators' port", 'OPS_PORT', {}],
  ['the port of two workers', 'PORT', TWO],
  ["the operators' port beside two workers", 'OPS_PORT', TWO],
])('a start that fails because %s is taken does not migrate', async (_, variable, environment) => {
  const url = await createEmptyDatabase();
  const instep = spawnInstep(['serve'], {
    ...SETTINGS,
    ...environment,
    DATABASE_URL: url.href,
    [variable]: takenPort(),
  });
  expect(await instep.exited).toBe(1);
  expect(instep.stderr).toContain(`127.0.0.1:${takenPort()} is taken: set ${variable} to another`);
  const database = connect(url);
  expect(await database.query(`select from pg_namespace where nspname = 'instep'`)).toEqual([]);
  await database.close();
});
