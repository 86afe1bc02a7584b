import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ROOT_CERTIFICATE,
  SELF_SIGNED,
  SERVER_CERTIFICATES,
  SERVER_KEY,
} from '../support/network/certificates.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import {
  createFolder,
  jsonLines,
  runInstep,
  SETTINGS,
  startInstep,
} from '../support/process/instep-process.ts';

const selfSigned = await PostgresCluster.create();
selfSigned.offerTls(SELF_SIGNED.cert, SELF_SIGNED.key);
await selfSigned.start();
afterAll(() => selfSigned.remove());

describe.each(['sslmode=require', 'sslmode=verify-full', 'ssl=require'])(
  'with %s, a self-signed certificate',
  (parameters) => {
    test.each(['migrate', 'serve'])('ends %s at once, with what to set', async (command) => {
      const DATABASE_URL = `${selfSigned.url.href}?${parameters}`;
      const { code, stderr } = await runInstep([command], { ...SETTINGS, DATABASE_URL });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^instep: .*self-signed certificate.*: set DATABASE_CA .*sslmode=no-verify.* \[DATABASE_UNUSABLE\]\n$/,
      );
    });
  },
);

describe('a server whose certificate has an issuer that nobody trusts', async () => {
  const cluster = await PostgresCluster.create();
  beforeAll(async () => {
    cluster.offerTls(SERVER_CERTIFICATES, SERVER_KEY);
    await cluster.start();
    await runInstep(['migrate', '--create-tables'], { DATABASE_URL: cluster.url.href });
  });
  afterAll(() => cluster.remove());

  const url = (parameters: string) => `${cluster.url.href}?${parameters}`;
  const ca = join(createFolder(), 'ca.pem');
  writeFileSync(ca, ROOT_CERTIFICATE);

  /** The doctor's check of the connection. */
  async function connectionWith(environment: Readonly<Record<string, string>>) {
    const { stdout } = await runInstep(['doctor', '--json'], { ...SETTINGS, ...environment });
    const checks = jsonLines(stdout);
    return checks.find(({ name }) => name === 'connection') ?? checks;
  }

  test.each([
    ['the path of its issuer', { DATABASE_CA: ca }, ''],
    ['its issuer', { DATABASE_CA: ROOT_CERTIFICATE }, 'sslmode=require'],
    ['its issuer on one line', { DATABASE_CA: ROOT_CERTIFICATE.replaceAll('\n', '\\n') }, ''],
    ['sslrootcert', {}, `sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`],
  ])('is verified by %s', async (_, environment, parameters) => {
    const check = await connectionWith({ ...environment, DATABASE_URL: url(parameters) });
    expect(check).toMatchObject({ state: 'ok', result: expect.stringContaining('TLSv1.3') });
  });

  test('can be anybody without verification, which the doctor says', async () => {
    const check = await connectionWith({ DATABASE_URL: url('sslmode=no-verify') });
    expect(check).toMatchObject({ state: 'warning', result: expect.stringContaining('TLSv1.3') });
  });

  test('is refused with another issuer', async () => {
    const environment = { ...SETTINGS, DATABASE_CA: SERVER_CERTIFICATES, DATABASE_URL: url('') };
    expect(await runInstep(['migrate'], environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('DATABASE_UNUSABLE'),
    });
  });

  test('the log says at the start how the connection is encrypted', async () => {
    const encrypted = { ...SETTINGS, DATABASE_CA: ca, DATABASE_URL: url('') };
    expect(await (await startInstep(encrypted)).logged({ msg: 'connected' })).toMatchObject({
      encryption: 'TLSv1.3',
    });
    const plain = { ...SETTINGS, DATABASE_URL: url('sslmode=disable') };
    expect(await (await startInstep(plain)).logged({ msg: 'connected' })).toMatchObject({
      encryption: 'none',
    });
  });
});

test.each([
  ['is no certificate', 'verify-full', 'not a path'],
  ['can not be used', 'disable', ROOT_CERTIFICATE],
])('DATABASE_CA that %s is a configuration error', async (_, mode, DATABASE_CA) => {
  const DATABASE_URL = `postgres://app@127.0.0.1/app?sslmode=${mode}`;
  const { code, stderr } = await runInstep(['migrate'], { DATABASE_CA, DATABASE_URL });
  expect(code).toBe(2);
  expect(stderr).toContain('DATABASE_CA');
});
