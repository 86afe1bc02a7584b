import { parseDatabaseUrl } from 'instep/src/postgres/database-url.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { startSelfSignedServer } from '../support/network/self-signed-server.ts';
import { runInstep, SETTINGS } from '../support/process/instep-process.ts';

const server = await startSelfSignedServer();
afterAll(() => server.close());

describe.each(['require', 'verify-full'])(
  'with sslmode=%s, a self-signed certificate',
  (sslmode) => {
    test.each(['migrate', 'serve'])('ends %s at once, with what to set', async (command) => {
      const DATABASE_URL = `${server.url.href}?sslmode=${sslmode}`;
      const { code, stderr } = await runInstep([command], { ...SETTINGS, DATABASE_URL });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^instep: .*self-signed certificate.*: set sslrootcert=.* in DATABASE_URL.*sslmode=no-verify.* \[DATABASE_UNUSABLE\]\n$/,
      );
    });
  },
);

test.each(['prefer', 'require', 'verify-ca', 'verify-full'])(
  'sslmode=%s verifies the certificate',
  (sslmode) => {
    const url = parseDatabaseUrl(`postgres://db/app?sslmode=${sslmode}`);
    expect(url?.searchParams.get('sslmode')).toBe('verify-full');
  },
);

test.each(['disable', 'no-verify', 'require&uselibpqcompat=true'])(
  'sslmode=%s is kept',
  (sslmode) => {
    const url = parseDatabaseUrl(`postgres://db/app?sslmode=${sslmode}`);
    expect(url?.search).toBe(`?sslmode=${sslmode}`);
  },
);

test.each(['allow', 'Require', 'yes'])('sslmode=%s is refused', (sslmode) => {
  expect(parseDatabaseUrl(`postgres://db/app?sslmode=${sslmode}`)).toBeNull();
});
