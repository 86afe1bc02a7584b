import { readSession } from 'instep';
import { expect, test, vi } from 'vitest';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';

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
