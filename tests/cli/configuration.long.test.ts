import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { secretKeys, verifySession } from '../support/internals/sessions.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import {
  createFolder,
  runInstep,
  SETTINGS,
  startInstep,
} from '../support/process/instep-process.ts';

/** Creates a folder with a `.env` file of this content. */
function folderWith(dotEnv: string): string {
  const folder = createFolder();
  writeFileSync(join(folder, '.env'), dotEnv);
  return folder;
}

/** Whether the cookie that a command printed is signed with this secret. */
async function isSignedWith(secret: string, stdout: string): Promise<boolean> {
  const token = stdout.trim().replace('session=', '');
  return typeof (await verifySession(token, secretKeys([secret]), Date.now())) !== 'string';
}

test('lists every configuration error with a remedy and exits with 2', async () => {
  const { code, stdout, stderr } = await runInstep(['serve'], {
    STRIPE_SECRET_KEY: 'sk_test_***',
    STRIPE_WEBHOOK_SECRET: '<SIGNING_SECRET>',
    AUTH_SECRET: '',
    DATABASE_URL: 'mysql://canary@localhost/app',
    PORT: '70000',
    LOG_LEVEL: 'loud',
    TEAM_PLAN: 'cheapest',
    PROFILE_PASSWORD_HASH: 'yes',
    MAX_BODY_BYTES: '1MB',
    REQUEST_DEADLINE_MS: '5.5',
    STRIPE_API_BASE: 'api.stripe.com',
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  const [head, ...problems] = stderr.trimEnd().split('\n');
  expect(head).toBe('instep: the configuration is invalid: [CONFIG_INVALID]');
  expect(new Set(problems)).toEqual(
    new Set([
      expect.stringMatching(/- STRIPE_SECRET_KEY is a placeholder: set .*sk_/),
      expect.stringMatching(/- STRIPE_WEBHOOK_SECRET is a placeholder: set .*whsec_/),
      expect.stringMatching(/- AUTH_SECRET is empty: set .*openssl rand/),
      expect.stringMatching(/- DATABASE_URL must be .*a URL such as postgres:/),
      expect.stringMatching(/- PORT must be a whole number from 0 to 65535/),
      expect.stringMatching(/- LOG_LEVEL must be info, /),
      expect.stringMatching(/- TEAM_PLAN must be newest or best/),
      expect.stringMatching(/- PROFILE_PASSWORD_HASH must be include or omit/),
      expect.stringMatching(/- MAX_BODY_BYTES must be a whole number from/),
      expect.stringMatching(/- REQUEST_DEADLINE_MS must be a whole number from/),
      expect.stringMatching(/- STRIPE_API_BASE must be a URL such as https:/),
    ]),
  );
  expect(stderr).not.toContain('canary');
});

test('reads .env from the working folder, and the environment takes precedence', async () => {
  const inFile = 'the secret of the file which is long enough';
  const inEnvironment = 'the secret of the environment is long too';
  const folder = folderWith(`# ours\nAUTH_SECRET="${inFile}"\n`);
  const command = ['session', 'issue', '--user', '1'];
  const fromFile = await runInstep(command, {}, folder);
  expect(fromFile).toMatchObject({ code: 0, stderr: '' });
  expect(await isSignedWith(inFile, fromFile.stdout)).toBe(true);
  const fromBoth = await runInstep(command, { AUTH_SECRET: inEnvironment }, folder);
  expect(await isSignedWith(inEnvironment, fromBoth.stdout)).toBe(true);
});

test.each([
  ['serve', { NODE_ENV: 'production' }, ''],
  ['migrate', { PGHOST: 'canary' }, ''],
])(
  '%s with %j and a .env file with "%s" does not fall back to the embedded database',
  async (command, environment, file) => {
    const folder = folderWith(file);
    const ended = await runInstep([command], { ...SETTINGS, ...environment }, folder);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(
      /DATABASE_URL is missing, and .*: set it to the URL of your PostgreSQL, or to embedded/,
    );
    expect(ended.stderr).not.toContain('canary');
    expect(existsSync(join(folder, 'data'))).toBe(false);
  },
);

test('the first log line names the database, without its password', async () => {
  const { url, database } = await createDatabase();
  url.password = 'canary';
  const instep = await startInstep({ DATABASE_URL: url.href, AUTH_SECRET: 'short' });
  expect(JSON.parse(instep.lines[0] ?? '')).toMatchObject({
    msg: 'using database',
    database: `PostgreSQL at ${url.searchParams.get('host') ?? url.host}, database ${url.pathname.slice(1)}`,
  });
  await instep.stop();
  await database.close();
});
