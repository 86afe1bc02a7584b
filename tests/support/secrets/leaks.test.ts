import { expect, test } from 'vitest';
import { useService } from '../service/contract-service.ts';
import { useStripeApis } from '../stripe/stripe-apis.ts';
import { API_KEY, AUTH_SECRET, HEADERS, MEMBERS, PROFILE } from './canaries.ts';
import { lookAtAnswer, lookAtOutput, takeLeaks } from './leaks.ts';

const service = useService();
const apis = useStripeApis();

test('finds a secret in a line, and reports the line', () => {
  lookAtOutput(['serve'], `fine\nthe key ${API_KEY} fails\nfine`);
  expect(takeLeaks()).toEqual([
    'canaryApiKey in the output of instep serve: the key sk_test_canaryApiKey fails',
  ]);
});

test('a token is a secret, except in the output of commands that print tokens', async () => {
  const cookie = await service.cookieOf(1);
  lookAtOutput(['session', 'issue'], cookie);
  expect(takeLeaks()).toEqual([]);
  lookAtOutput(['session', 'issue'], AUTH_SECRET);
  lookAtOutput(['serve'], cookie);
  expect(takeLeaks()).toHaveLength(2);
});

test('a response is checked with its headers, whether the test reads it or not', async () => {
  const { url } = await apis.startOdd(({ headers }, response) => {
    response.setHeader('x-agent', headers['user-agent'] ?? '').end(headers.authorization);
  });
  await fetch(url, { headers: HEADERS });
  expect(takeLeaks()).toEqual([
    expect.stringMatching(/^canaryUserAgent in the answer of /),
    expect.stringMatching(/^canaryAuthorization in the answer of /),
  ]);
});

test('only a profile can contain profile data', async () => {
  const { id } = await service.addUser();
  const profile = await (await service.getUser(await service.cookieOf(id))).text();
  expect(profile).toContain(PROFILE.passwordHash);
  expect(takeLeaks()).toEqual([]);
  lookAtAnswer(service.url, profile.replace('member', API_KEY));
  lookAtAnswer(service.url, JSON.stringify({ error: PROFILE.email }));
  expect(takeLeaks()).toHaveLength(2);
});

test("only an event's own page can contain its payload", () => {
  const url = 'http://127.0.0.1:3001';
  lookAtAnswer(`${url}/events/7`, MEMBERS.description);
  lookAtAnswer(`${url}/events/7/body`, MEMBERS.customer_email);
  expect(takeLeaks()).toEqual([]);
  lookAtAnswer(`${url}/events`, MEMBERS.description);
  lookAtAnswer(`${url}/events/7`, API_KEY);
  expect(takeLeaks()).toHaveLength(2);
});
