import { createLogger, openInstep, readConfig, readSession } from 'instep';
import { afterAll, expect, test, vi } from 'vitest';
import { issueSession } from '../support/internals/sessions.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';

const OTHER_SECRET = 'the secret of another app, also longer than 32 bytes';

const lines: string[] = [];
const { url } = await createDatabase();
const config = readConfig({ ...SETTINGS, DATABASE_URL: url.href });
const logger = createLogger('warn', { write: (line) => lines.push(line) });
const instep = await openInstep({ config, logger, maintenance: 'off' });
afterAll(() => instep.close());

/** The answer of `GET /api/user` to a token. */
async function answerTo(token: string): Promise<unknown> {
  const headers = { cookie: `session=${token}` };
  const response = await instep.fetch(new Request('http://localhost/api/user', { headers }));
  expect(response.status).toBe(200);
  return await response.json();
}

const valid = () => ({ nowMs: Date.now(), lifetimeMs: 60_000 });
const past = () => ({ nowMs: Date.now() - 120_000, lifetimeMs: 60_000 });

test('what our secret signed is not logged', async () => {
  expect(await answerTo(await issueSession(7, AUTH_SECRET, past()))).toBeNull();
  expect(await answerTo(await issueSession('', AUTH_SECRET, valid()))).toBeNull();
  expect(await answerTo(await issueSession(7, AUTH_SECRET, valid()))).toBeNull();
  expect(lines).toEqual([]);
});

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

const environment = { AUTH_SECRET };
const headersWith = (cookie: string) => ({ headers: new Headers({ cookie }) });

test('returns the user of a valid session', async () => {
  const request = headersWith(await sessionCookie(7));
  expect(await readSession(request, { environment })).toMatchObject({ userId: 7 });
});

test("white space at the ends of a secret is a part of it, as in the app's", async () => {
  const padded = `${AUTH_SECRET}\n`;
  const request = headersWith(await sessionCookie(7, padded));
  expect(await readSession(request, { environment: { AUTH_SECRET: padded } })).not.toBeNull();
  expect(await readSession(request, { environment })).toBeNull();
});

test('verifies a token once', async () => {
  const request = headersWith(await sessionCookie(8));
  const verify = vi.spyOn(globalThis.crypto.subtle, 'verify');
  for (let time = 0; time < 3; time += 1) {
    expect(await readSession(request, { environment })).toMatchObject({ userId: 8 });
  }
  expect(verify).toHaveBeenCalledOnce();
});

test('rejects when AUTH_SECRET is missing', async () => {
  const read = readSession(headersWith(''), { environment: {} });
  await expect(read).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
