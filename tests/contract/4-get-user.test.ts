import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';

const service = useService();
const nowSeconds = Math.floor(Date.now() / 1_000);

function cookieWith(claims: object, header: object = {}): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'HS256', ...header })}.${part(claims)}`;
  return `session=${signed}.${createHmac('sha256', AUTH_SECRET).update(signed).digest('base64url')}`;
}

async function expectNull(cookie?: string): Promise<void> {
  const response = await service.getUser(cookie);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('null');
}

test('4 null without a session cookie', async () => {
  await expectNull();
  await expectNull('theme=dark');
});

test.each([
  ['not a token', 'session=hello'],
  ['empty', 'session='],
  ['percent signs', 'session=%E0%A4%A'],
  ['quotes', 'session="'],
  ['oversized', `session=${'a'.repeat(9_000)}`],
  ['algorithm none', cookieWith({ user: { id: 1 }, exp: nowSeconds + 60 }, { alg: 'none' })],
  ['algorithm HS384', cookieWith({ user: { id: 1 }, exp: nowSeconds + 60 }, { alg: 'HS384' })],
  ['a user id as text', cookieWith({ user: { id: '1' }, exp: nowSeconds + 60 })],
  ['a user id with a fraction', cookieWith({ user: { id: 1.5 }, exp: nowSeconds + 60 })],
  ['a user id of 3e9', cookieWith({ user: { id: 3e9 }, exp: nowSeconds + 60 })],
])('4 null when the cookie is invalid or malformed: %s', async (_, cookie) => {
  await expectNull(cookie);
});

test('4 null when it was signed with another secret', async () => {
  const { id } = await service.addUser();
  await expectNull(await service.cookieOf(id, 'another secret that is long enough'));
});

test('4 null when the session has expired, by exp or by expires', async () => {
  const { id } = await service.addUser();
  const user = { id };
  const past = new Date(Date.now() - 1_000).toISOString();
  await expectNull(cookieWith({ user, exp: nowSeconds - 1 }));
  await expectNull(cookieWith({ user, exp: nowSeconds + 60, expires: past }));
  await expectNull(cookieWith({ user }));
  const valid = await service.getUser(cookieWith({ user, exp: nowSeconds + 60 }));
  expect(await valid.json()).toMatchObject({ id });
});

test('4 null when the id matches no user', async () => {
  await expectNull(await service.cookieOf(2_147_483_647));
});

test('4 null as soon as the user is soft-deleted', async () => {
  const { id } = await service.addUser();
  const cookie = await service.cookieOf(id);
  expect(await (await service.getUser(cookie)).json()).toMatchObject({ id });
  await service.database.query('update users set deleted_at = now() where id = $1', [id]);
  await expectNull(cookie);
});

test('4 each user gets their own profile, also in many concurrent requests', async () => {
  const users = await Promise.all(Array.from({ length: 20 }, () => service.addUser()));
  const profiles = await Promise.all(
    users.map(async ({ id }) => (await service.getUser(await service.cookieOf(id))).json()),
  );
  expect(profiles).toMatchObject(users.map(({ id, email }) => ({ id, email })));
});

test('4 a profile is private: no cache can keep it, and no other site can read it', async () => {
  const { id } = await service.addUser();
  for (const cookie of [undefined, await service.cookieOf(id)]) {
    const { headers } = await service.getUser(cookie);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('vary')).toBe('Cookie');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.has('access-control-allow-origin')).toBe(false);
  }
});
