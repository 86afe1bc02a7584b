import { afterAll, describe, expect, test } from 'vitest';
import { startSelfSignedServer } from '../support/network/self-signed-server.ts';
import { runInstep, SETTINGS } from '../support/process/instep-process.ts';

const server = await startSelfSignedServer();
afterAll(() => server.close());

describe.each(['sslmode=require', 'sslmode=verify-full', 'ssl=require'])(
  'with %s, a self-signed certificate',
  (parameters) => {
    test.each(['migrate', 'serve'])('ends %s at once, with what to set', async (command) => {
      const DATABASE_URL = `${server.url.href}?${parameters}`;
      const { code, stderr } = await runInstep([command], { ...SETTINGS, DATABASE_URL });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^instep: .*self-signed certificate.*: set sslrootcert=.* in DATABASE_URL.*sslmode=no-verify.* \[DATABASE_UNUSABLE\]\n$/,
      );
    });
  },
);
