import { ConfigInvalid } from 'instep';
import { expect, test } from 'vitest';
import { describeDatabase, readPart } from '../support/internals/server.ts';

const EMBEDDED = { address: null };

test.each([
  [{ NODE_ENV: 'production' }, 'NODE_ENV is production'],
  [{ PGHOST: 'canary.example.com' }, 'PGHOST is set'],
])('with %j, the embedded database must be asked for', (environment, reason) => {
  expect(() => readPart('database', environment)).toThrow(ConfigInvalid);
  expect(() => readPart('database', environment)).toThrow(
    `DATABASE_URL is missing, and ${reason}: set it to the URL of your PostgreSQL, or to embedded`,
  );
  expect(() => readPart('database', environment)).not.toThrow(/canary/);
  const chosen = { ...environment, DATABASE_URL: 'embedded' };
  expect(readPart('database', chosen)).toMatchObject(EMBEDDED);
  const yours = { ...environment, DATABASE_URL: 'postgres://localhost/app' };
  expect(readPart('database', yours).address).not.toBeNull();
});

test('without DATABASE_URL, POSTGRES_URL is used, and named by its errors', () => {
  const environment = { NODE_ENV: 'production', POSTGRES_URL: 'postgres://localhost/app' };
  expect(describeDatabase(readPart('database', environment))).toContain('database app');
  const ours = { ...environment, DATABASE_URL: 'postgres://localhost/ours' };
  expect(describeDatabase(readPart('database', ours))).toContain('database ours');
  expect(() => readPart('database', { POSTGRES_URL: 'canary' })).toThrow(
    'DATABASE_URL is not set, and POSTGRES_URL must be embedded, or a URL',
  );
  expect(readPart('database', { POSTGRES_URL: '' })).toMatchObject(EMBEDDED);
});

test('without any of them, the embedded database is the default', () => {
  expect(readPart('database', { NODE_ENV: 'development', PGHOST: '' })).toMatchObject(EMBEDDED);
});

test.each([
  [
    'postgres://user:canary@one:5432/app?password=canary&target_session_attrs=primary',
    'PostgreSQL at one:5432, database app',
  ],
  ['postgres://one', 'PostgreSQL at one'],
  ['postgres:///app?host=/run/postgresql', 'PostgreSQL at /run/postgresql, database app'],
  ['embedded', expect.stringMatching(/^embedded PostgreSQL in .*data$/)],
])('%s is described without user, password and query', (DATABASE_URL, description) => {
  expect(describeDatabase(readPart('database', { DATABASE_URL }))).toEqual(description);
});
