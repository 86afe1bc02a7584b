import { createHmac } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { SessionReader, secretKeys, verifySession } from '../support/internals/sessions.ts';

const NOW_MS = 1_700_000_000_000;
const NOW = NOW_MS / 1_000;
const SECRET = 'a secret of more than thirty-two bytes';
const keys = secretKeys([SECRET, 'the secret that it replaces, also long']);
async function verify(token: string) {
  const session = await verifySession(token, keys, NOW_MS);
  return typeof session === 'string' ? null : session;
}
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString();

function sign(claims: object, header: object = {}, secret = SECRET): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'HS256', ...header })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const good = { user: { id: 7 }, iat: NOW, exp: NOW + 60, expires: iso(NOW + 60) };

test.each([2 ** 40, '7', '0b6f6f5e-9d3c-4a1b-8a39-6a3f3a5f2f10', 'ckv9x7a1b0000'])(
  'accepts the user id %j',
  async (id) => {
    expect(await verify(sign({ ...good, user: { id } }))).toMatchObject({ userId: id });
  },
);

test('accepts exp or expires, and the earlier one counts', async () => {
  const { exp: _exp, ...onlyExpires } = good;
  const { expires: _expires, ...onlyExp } = good;
  expect(await verify(sign(onlyExpires))).toMatchObject({ userId: 7 });
  expect(await verify(sign(onlyExp))).toMatchObject({ userId: 7 });
  expect(await verify(sign({ ...good, expires: iso(NOW + 30) }))).toMatchObject({
    expiresAtMs: NOW_MS + 30_000,
  });
});

test.each([
  ['exp in the past', { ...good, exp: NOW - 1 }],
  ['exp now', { ...good, exp: NOW }],
  ['exp as text', { ...good, exp: String(NOW + 60) }],
  ['exp null', { ...good, exp: null }],
  ['expires in the past', { ...good, expires: iso(NOW - 1) }],
  ['expires that is not a time', { ...good, expires: 'tomorrow' }],
  ['expires on a nonexistent day', { ...good, expires: '2999-02-30T00:00:00Z' }],
  ['expires with a space', { ...good, expires: '2999-01-01 10:00:00Z' }],
  ['expires with an offset without a colon', { ...good, expires: '2999-01-01T10:00:00+0500' }],
  ['expires as a number', { ...good, expires: NOW_MS + 60_000 }],
  ['neither exp nor expires', { user: { id: 7 }, iat: NOW }],
  ['nbf in the future', { ...good, nbf: NOW + 30 }],
  ['no user', { ...good, user: undefined }],
  ['user null', { ...good, user: null }],
  ...[0, -1, 1.5, 2 ** 53, 1e300, '', 'a\0', 'a'.repeat(256), [7], {}, true, null].map((id) => [
    `user id ${JSON.stringify(id)}`,
    { ...good, user: { id } },
  ]),
] as [string, object][])('%s: null', async (_, claims) => {
  expect(await verify(sign(claims))).toBeNull();
});

test.each([
  ['none', { alg: 'none' }],
  ['HS512', { alg: 'HS512' }],
  ['RS256', { alg: 'RS256' }],
  ['an unknown crit', { crit: ['x'], x: 1 }],
  ['an unencoded payload', { b64: false, crit: ['b64'] }],
])('a header with %s: null', async (_, header) => {
  expect(await verify(sign(good, header))).toBeNull();
});

test('ignores a key that is embedded in the token', async () => {
  const jwk = { kty: 'oct', k: Buffer.from('the attacker').toString('base64url') };
  expect(await verify(sign(good, { jwk, kid: '../../dev/null' }, 'the attacker'))).toBeNull();
});

test.each([
  ['another secret', sign(good, {}, 'another secret')],
  ['an empty secret', sign(good, {}, '')],
  ['a changed claim', sign(good).replace(/\.[^.]+\./, `.${btoa('{"user":{"id":8}}')}.`)],
  ['no signature', sign(good).replace(/[^.]+$/, '')],
  ['no JSON', 'a.b.c'],
  ['claims that are a list', sign([])],
])('%s: null', async (_, token) => {
  expect(await verify(token)).toBeNull();
});

test('a cached session ends when it expires', async () => {
  let nowMs = NOW_MS;
  const sessions = new SessionReader(keys, () => nowMs);
  const token = sign(good);
  expect(await sessions.read(token)).toMatchObject({ userId: 7 });
  expect(await sessions.read(token)).toMatchObject({ userId: 7 });
  nowMs += 60_000;
  expect(await sessions.read(token)).toBeNull();
});

test('a forged copy of a cached token is refused', async () => {
  const sessions = new SessionReader(keys, () => NOW_MS);
  const token = sign(good);
  expect(await sessions.read(token)).toMatchObject({ userId: 7 });
  expect(await sessions.read(`${token.slice(0, -2)}AA`)).toBeNull();
});

test('a session in use stays cached while 10,000 others are read', async () => {
  const sessions = new SessionReader(keys, () => NOW_MS);
  const token = sign(good);
  await sessions.read(token);
  const verify = vi.spyOn(globalThis.crypto.subtle, 'verify');
  for (let id = 1; id <= 10_100; id += 1) {
    await sessions.read(sign({ ...good, user: { id } }));
    if (id % 1_000 === 0) await sessions.read(token);
  }
  verify.mockClear();
  expect(await sessions.read(token)).toMatchObject({ userId: 7 });
  expect(verify).not.toHaveBeenCalled();
});
