import { expect, test } from 'vitest';
import { writeFiles } from '../support/init/starter-app.ts';
import { createFolder, runInstep, SETTINGS } from '../support/process/instep-process.ts';

const HIDDEN = 'hidden0123456789hidden0123456789';

/** What `instep config --json` prints in a folder with these files. */
async function configIn(
  files: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
) {
  const folder = createFolder();
  writeFiles(folder, files);
  const { code, stdout, stderr } = await runInstep(['config', '--json'], environment, folder);
  const lines = stdout.trim().split('\n');
  const settings = new Map(lines.map((line) => JSON.parse(line)).map((one) => [one.variable, one]));
  return { code, settings, output: stdout + stderr };
}

test('says where each value comes from', async () => {
  const { code, settings } = await configIn(
    { '.env.local': 'TEAM_PLAN=best', '.env': 'TEAM_PLAN=newest\nPAST_DUE_GRACE=14d\nPORT=1\n' },
    { ...SETTINGS, PORT: '4000' },
  );
  expect(code).toBe(0);
  expect(settings.get('TEAM_PLAN')).toMatchObject({ value: 'best', from: '.env.local' });
  expect(settings.get('PAST_DUE_GRACE')).toMatchObject({ value: '14d', from: '.env' });
  expect(settings.get('PORT')).toMatchObject({ value: '4000', from: 'environment' });
  expect(settings.get('EVENT_RETENTION')).toMatchObject({ value: '90d', from: 'default' });
});

test('shows no secret, also of an address', async () => {
  const { code, output, settings } = await configIn(
    { '.env': `AUTH_SECRET=${HIDDEN}\nALERT_WEBHOOK_URL=https://chat.example/${HIDDEN}\n` },
    {
      DATABASE_URL: `postgres://me:${HIDDEN}@db.example/app`,
      STRIPE_SECRET_KEY: `sk_test_${HIDDEN}`,
      STRIPE_WEBHOOK_SECRET: `whsec_${HIDDEN}`,
      OPS_TOKEN: HIDDEN,
      STRIPE_API_BASE: `https://me:${HIDDEN}@stripe.example`,
      DATABASE_CA: `-----BEGIN CERTIFICATE-----${HIDDEN}`,
    },
  );
  expect(code).toBe(0);
  expect(settings.get('OPS_TOKEN')).toMatchObject({ value: 'set', from: 'environment' });
  expect(settings.get('DATABASE_URL').value).toContain('db.example');
  expect(output).not.toContain('hidden');
});

test('says that another variable stands in for DATABASE_URL', async () => {
  const { DATABASE_URL: _, ...others } = SETTINGS;
  const environment = { ...others, POSTGRES_URL: 'postgres://db.example/app' };
  const { settings } = await configIn({}, environment);
  expect(settings.get('DATABASE_URL').value).toContain('POSTGRES_URL');
  expect(settings.get('POSTGRES_URL').value).toContain('db.example');
});

test('shows all settings although some are invalid, and exits with 2', async () => {
  const invalid = { TEAM_PLAN: 'oldest', DATABASE_URL: 'mysql://db', POSTGRES_URL: 'x' };
  const { code, settings } = await configIn({}, { ...SETTINGS, ...invalid });
  expect(settings.get('DATABASE_URL')).toMatchObject({ value: null, problem: expect.any(String) });
  expect(code).toBe(2);
  expect(settings.get('TEAM_PLAN')).toMatchObject({ value: null, problem: expect.any(String) });
  expect(settings.get('PROFILE')).toMatchObject({ value: 'on', problem: null });
});
