import { expect, test } from 'vitest';
import { createEmptyDatabase } from '../support/postgres/test-database.ts';
import { createFolder, runInstep } from '../support/process/instep-process.ts';
import { OPERATIONS_TOKEN } from '../support/secrets/canaries.ts';
import { eventBody } from '../support/stripe/events.ts';
import { openExaminedAccount, troublesOf } from '../support/stripe/examined-account.ts';

const NAMES = [
  'configuration',
  'API key',
  'signing secret',
  'session secret',
  'operators',
  "Stripe's API",
  'clock',
  'webhook endpoint',
  'database',
  'PostgreSQL',
  'durability',
  'disk space',
  'privileges',
  'schema',
  'users and teams',
  'last event',
  "events' mode",
  'parked events',
  'ties',
  'names',
];

async function openHealthyAccount() {
  const account = await openExaminedAccount();
  await account.database.query(
    `insert into teams (name, provider_customer_id) values ('Acme', 'cus_1')`,
  );
  await account.deliver(eventBody());
  return account;
}

test('where all is well each line is ok, and the exit code 0', async () => {
  const { environment, examine } = await openHealthyAccount();
  const url = 'https://app.example.com/api/stripe/webhook';
  const { code, checks, stderr } = await examine({}, '--url', url);
  expect(checks.map(({ name }) => name)).toEqual(NAMES);
  expect(troublesOf({ checks })).toEqual([]);
  expect(checks.every(({ whatToDo }) => whatToDo === null)).toBe(true);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '20 ok, 0 warning(s), 0 failure(s)\n' });

  const shown = await runInstep(['doctor'], environment);
  const lines = shown.stdout.trimEnd().split('\n');
  expect(lines.map((line) => line.slice(0, 28).trimEnd())).toEqual(
    NAMES.map((name) => `ok       ${name}`),
  );
  expect(shown.stdout).not.toContain('\u001b');
});

test('what is wrong is followed by what to do, and the exit code is 1', async () => {
  const { environment } = await openHealthyAccount();
  const { code, stdout, stderr } = await runInstep(['doctor'], { ...environment, PORT: '70000' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'instep: 19 ok, 0 warning(s), 1 failure(s) [DOCTOR_FAILED]\n',
  });
  expect(stdout.split('\n').slice(0, 2)).toEqual([
    'failure  configuration      PORT must be a whole number from 0 to 65535',
    `${' '.repeat(28)}→ set it right in the environment, or in .env of the folder where the server starts`,
  ]);
});

test('a configuration that is all wrong is listed, and the rest is looked at', async () => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({
    STRIPE_SECRET_KEY: 'sk_test_***',
    STRIPE_WEBHOOK_SECRET: 'canaryMalformed',
    AUTH_SECRET: '',
    LOG_LEVEL: 'loud',
  });
  expect(ended.code).toBe(1);
  expect(troublesOf(ended)).toEqual([
    'failure configuration: STRIPE_WEBHOOK_SECRET is malformed',
    'failure configuration: AUTH_SECRET is empty',
    'failure configuration: STRIPE_SECRET_KEY is a placeholder',
    'failure configuration: LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent',
    "warning Stripe's API: not asked",
  ]);
  expect(ended.checks[0]?.whatToDo).toMatch(/^set the signing secret .*whsec_/);
  expect(ended.checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['schema', 'ties']));
});

test('a database that is not configured right is not looked at, and all else is', async () => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({ DATABASE_URL: 'mysql://canaryUser@localhost/app' });
  expect(troublesOf(ended)).toEqual([
    expect.stringMatching(/^failure configuration: DATABASE_URL must be a URL/),
    'warning database: not looked at',
  ]);
  expect(ended.checks.map(({ name }) => name)).toContain('webhook endpoint');
});

test.each([
  ['STRIPE_SECRET_KEY', 'sk_canaryOldKey', 'warning API key: a secret key that does not say'],
  ['AUTH_SECRET', 'canaryShort', 'warning session secret: AUTH_SECRET is shorter than 32 bytes'],
])('%s of an odd shape is a warning', async (name, value, trouble) => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({ [name]: value });
  expect(troublesOf(ended)).toEqual([expect.stringContaining(trouble)]);
  expect(ended.code).toBe(0);
});

test.each([
  [{}, 'at 127.0.0.1:3001, for whoever is on this machine'],
  [
    { OPS_HOST: '0.0.0.0', OPS_PORT: '9000', OPS_TOKEN: OPERATIONS_TOKEN },
    'at 0.0.0.0:9000, for whoever knows OPS_TOKEN',
  ],
  [{ OPS_PORT: 'off' }, undefined],
])('where operators look is told: %j', async (settings, says) => {
  const { examine } = await openHealthyAccount();
  const { checks } = await examine(settings);
  expect(checks.find(({ name }) => name === 'operators')?.says).toBe(says);
});

test('an address of theirs that others reach, without a token, is a failure', async () => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({ OPS_HOST: '0.0.0.0' });
  expect(troublesOf(ended)).toEqual([
    'failure configuration: OPS_HOST is no loopback address, which needs OPS_TOKEN',
  ]);
  expect(ended.checks[0]?.whatToDo).toMatch(/^set 32 characters or more/);
});

test('several secrets are counted, and the kind of the key is told', async () => {
  const { examine } = await openHealthyAccount();
  const { checks } = await examine({
    STRIPE_SECRET_KEY: 'rk_live_canaryRestricted',
    STRIPE_WEBHOOK_SECRET: 'whsec_canaryNew,whsec_canaryOld',
  });
  const says = Object.fromEntries(checks.map((check) => [check.name, check.says]));
  expect(says['API key']).toMatch(/^a restricted key of live mode, for 127\.0\.0\.1/);
  expect(says['signing secret']).toMatch(/^2: /);
});

test('without any configuration and database it says so, and makes nothing', async () => {
  const folder = createFolder();
  const { code, stdout } = await runInstep(['doctor'], {}, folder);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^warning {2}database {11}there is none yet in .*data$/m);
  const again = await runInstep(['doctor'], {}, folder);
  expect(again.stdout).toBe(stdout);
});

test('the embedded database is looked at with the room on its disk', async () => {
  const folder = createFolder();
  await runInstep(['user', 'add', '--email', 'ada@example.com'], {}, folder);
  const { stdout } = await runInstep(['doctor'], {}, folder);
  expect(stdout).toMatch(/^\w+ +disk space +the database takes [\d.]+ MB, [\d.]+ .B are free$/m);
  expect(stdout).toMatch(/^ok +schema +up to date$/m);
});

test('an empty database is a failure that says what to do', async () => {
  const { examine } = await openHealthyAccount();
  const ended = await examine({ DATABASE_URL: (await createEmptyDatabase()).href });
  expect(troublesOf(ended)).toEqual([
    expect.stringMatching(/^failure schema: the database lacks 0001/),
    expect.stringMatching(/^warning log: not looked into/),
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
