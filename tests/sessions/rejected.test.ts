import { createLogger, openInstep, readConfig } from 'instep';
import { afterAll, expect, test } from 'vitest';
import { issueSession } from '../support/internals/sessions.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';

const OTHER_SECRET = 'the secret of another app, also longer than 32 bytes';

const lines: string[] = [];
const { url } = await createDatabase();
const config = readConfig({ ...SETTINGS, DATABASE_URL: url.href });
const logger = createLogger('warn', { write: (line) => lines.push(line) });
const instep = await openInstep({ config, logger, maintenance: 'off' });
afterAll(() => instep.close());

/** The answer of `GET /api/user` to a token. */
async function answerTo(token: string): Promise<unknown> {
  const { status, body } = await instep.handle({
    method: 'GET',
    path: '/api/user',
    header: (name) => (name === 'cookie' ? `session=${token}` : null),
    body: async () => new Uint8Array(),
  });
  expect(status).toBe(200);
  return JSON.parse(body);
}

const valid = () => ({ nowMs: Date.now(), lifetimeMs: 60_000 });
const past = () => ({ nowMs: Date.now() - 120_000, lifetimeMs: 60_000 });

test('a signature of another secret is answered with null, and logged without the token', async () => {
  const token = await issueSession(7, OTHER_SECRET, valid());
  for (let count = 0; count < 12; count += 1) expect(await answerTo(token)).toBeNull();
  const written = lines.filter((line) => line.includes('AUTH_SECRET'));
  expect(written).not.toEqual([]);
  for (const line of written) {
    const { level, time, suppressed, msg, ...others } = JSON.parse(line);
    expect(others).toEqual({});
  }
});

test('what our secret signed is not logged', async () => {
  const before = lines.length;
  expect(await answerTo(await issueSession(7, AUTH_SECRET, past()))).toBeNull();
  expect(await answerTo(await issueSession('', AUTH_SECRET, valid()))).toBeNull();
  expect(await answerTo(await issueSession(7, AUTH_SECRET, valid()))).toBeNull();
  expect(lines).toHaveLength(before);
});
