import type { ApplicationId } from 'instep';
import { signWebhook } from 'instep/testing';
import { expect, test } from 'vitest';
import { runInstep, SETTINGS } from '../support/process/instep-process.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const SECRETS = ['whsec_canaryNew', 'whsec_canaryOld'];
const AUTH_SECRETS = [
  'canaryNewSecret of the sessions is long',
  'canaryOldSecret of the sessions is long',
];
const service = useService({
  STRIPE_WEBHOOK_SECRET: SECRETS.join(','),
  AUTH_SECRET: AUTH_SECRETS.join(','),
});

const cookieOf = (userId: ApplicationId) => service.cookieOf(userId, AUTH_SECRETS[0]);

test.each(SECRETS)('5 both signing secrets are valid while one is replaced: %s', async (secret) => {
  const body = eventBody();
  const signature = signWebhook(body, secret, Date.now());
  expect((await service.postRaw(body, { 'stripe-signature': signature })).status).toBe(200);
});

test.each(AUTH_SECRETS)(
  '5 both session secrets are valid while one is replaced: %s',
  async (secret) => {
    const { id } = await service.addUser();
    const response = await service.getUser(await service.cookieOf(id, secret));
    expect(await response.json()).toMatchObject({ id });
  },
);

test('5 the cookie is named session, and the first of two is used', async () => {
  const [first, second] = [await service.addUser(), await service.addUser()];
  const cookies = [await cookieOf(first.id), await cookieOf(second.id)];
  const response = await service.getUser(cookies.join('; '));
  expect(await response.json()).toMatchObject({ id: first.id });
  const renamed = await service.getUser(cookies[0]?.replace('session', 'Session'));
  expect(await renamed.json()).toBeNull();
});

test('5 300 other cookies do not hide the session', async () => {
  const { id } = await service.addUser();
  const others = Array.from({ length: 300 }, (_, index) => `c${index}=${index}`).join('; ');
  const response = await service.getUser(`${others}; ${await cookieOf(id)}`);
  expect(await response.json()).toMatchObject({ id });
});

test.each(['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'])('5 %s is required', async (name) => {
  const { code, stderr } = await runInstep(['serve'], { ...SETTINGS, [name]: '' });
  expect(code).toBe(2);
  expect(stderr).toContain(`${name} is empty`);
});
