import type { Check } from 'instep/src/doctor/check.ts';
import { afterAll, expect, test } from 'vitest';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { createTemplate } from '../support/postgres/template.ts';
import { createEmptyDatabase, createMigratedDatabase } from '../support/postgres/test-database.ts';
import { createFolder, jsonLines, runInstep } from '../support/process/instep-process.ts';
import { recordComparison } from '../support/service/comparison.ts';
import { eventBody } from '../support/stripe/events.ts';
import { ENDPOINT, issuesOf, openExaminedAccount } from '../support/stripe/examined-account.ts';

const NAMES = [
  'configuration',
  "Stripe's API",
  'webhook endpoint',
  'connection',
  'privileges',
  'users and teams',
  'schema',
  'access',
  'last event',
  'event log',
];

// The server that the tests share does not sync, which is a warning.
const durable = await PostgresCluster.create();
afterAll(() => durable.remove());
await durable.start();
await createTemplate(durable.url.href);

async function openHealthyAccount() {
  const server = { name: 'durable', url: durable.url.href };
  const account = await openExaminedAccount(await createMigratedDatabase(server));
  await account.database.query(
    `insert into teams (name, provider_customer_id) values ('Acme', 'cus_1')`,
  );
  await account.deliver(eventBody());
  await recordComparison(account.database.query);
  return account;
}

test('prints ok on each line and exits with 0 when nothing is wrong', async () => {
  const { environment } = await openHealthyAccount();
  const { url } = ENDPOINT;
  const { code, stdout, stderr } = await runInstep(['doctor', '--json', '--url', url], environment);
  const checks: Check[] = jsonLines(stdout);
  expect(checks.map(({ name }) => name)).toEqual(NAMES);
  expect(issuesOf({ checks })).toEqual([]);
  expect(checks.every(({ advice }) => advice === null)).toBe(true);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `${NAMES.length} ok, 0 warnings, 0 failures\n`,
  });

  const shown = await runInstep(['doctor'], environment);
  const lines = shown.stdout.trimEnd().split('\n');
  expect(lines.map((line) => line.slice(0, 27).trimEnd())).toEqual(
    NAMES.map((name) => `ok       ${name}`),
  );
  expect(shown.stdout).not.toContain('\u001b');
});

test('prints advice below a failure and exits with 1', async () => {
  const { environment } = await openHealthyAccount();
  const { code, stdout, stderr } = await runInstep(['doctor'], { ...environment, PORT: '70000' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^instep: \d+ ok, 0 warnings, 1 failure \[DOCTOR_FAILED\]\n$/),
  });
  expect(stdout.split('\n').slice(0, 2)).toEqual([
    'failure  configuration     PORT must be a whole number from 0 to 65535',
    `${' '.repeat(27)}→ correct it in the environment, or in .env in the directory where the server starts`,
  ]);
});

test('lists every configuration error and checks the rest', async () => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({
    STRIPE_SECRET_KEY: 'sk_test_***',
    STRIPE_WEBHOOK_SECRET: 'canaryMalformed',
    AUTH_SECRET: '',
    LOG_LEVEL: 'loud',
  });
  expect(ended.hasFailure).toBe(true);
  expect(issuesOf(ended)).toEqual([
    'failure configuration: STRIPE_WEBHOOK_SECRET is malformed',
    'failure configuration: AUTH_SECRET is empty',
    'failure configuration: STRIPE_SECRET_KEY is a placeholder',
    'failure configuration: LOG_LEVEL must be info, fatal, error, warn, debug, trace or silent',
    "warning Stripe's API: not checked",
  ]);
  expect(ended.checks[0]?.advice).toMatch(/^set the signing secret .*whsec_/);
  expect(ended.checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['schema', 'event log']),
  );
});

test('creates nothing when there is no configuration and no database', async () => {
  const folder = createFolder();
  const { code, stdout } = await runInstep(['doctor'], {}, folder);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^warning {2}database {10}the embedded database in .*data does not exist yet$/m,
  );
  const again = await runInstep(['doctor'], {}, folder);
  expect(again.stdout).toBe(stdout);
});

test('an empty database is a failure with advice', async () => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({ DATABASE_URL: (await createEmptyDatabase()).href });
  expect(issuesOf(ended)).toEqual([
    expect.stringMatching(
      /^failure users and teams: the table users is missing; the table teams is missing/,
    ),
    expect.stringMatching(/^failure schema: the database lacks 00/),
    expect.stringMatching(/^warning event log: not checked/),
  ]);
});

test.each(['your.app', 'ftp://your.app/', '/api/stripe/webhook'])(
  '--url %s is wrong usage',
  async (url) => {
    const { code, stdout, stderr } = await runInstep(['doctor', '--url', url]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/must be a URL such as https:/);
  },
);
