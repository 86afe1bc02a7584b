import { expect, test } from 'vitest';
import { useService } from '../service/contract-service.ts';
import { useStripeApis } from '../stripe/stripe-apis.ts';
import { checkOutput, checkResponse, takeLeaks } from './leaks.ts';
import { API_KEY, AUTH_SECRET, HEADERS, MEMBERS, PROFILE } from './test-secrets.ts';

const service = useService();
const apis = useStripeApis();

test('finds a secret in a line, and reports the line', () => {
  checkOutput(['serve'], `fine\nthe key ${API_KEY} fails\nfine`);
  expect(takeLeaks()).toEqual([
    'canaryApiKey in the output of instep serve: the key sk_test_canaryApiKey fails',
  ]);
});

test('a token is a secret, except in the output of commands that print tokens', async () => {
  const cookie = await service.cookieOf(1);
  checkOutput(['session', 'issue'], cookie);
  expect(takeLeaks()).toEqual([]);
  checkOutput(['session', 'issue'], AUTH_SECRET);
  checkOutput(['serve'], cookie);
  expect(takeLeaks()).toHaveLength(2);
});

test('a response is checked with its headers, whether the test reads it or not', async () => {
  const { url } = await apis.startWith(({ headers }, response) => {
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
  checkResponse(service.url, profile.replace('member', API_KEY));
  checkResponse(service.url, JSON.stringify({ error: PROFILE.email }));
  expect(takeLeaks()).toHaveLength(2);
});

test("only an event's own page can contain its payload", () => {
  const url = 'http://127.0.0.1:3001';
  checkResponse(`${url}/events/7`, MEMBERS.description);
  checkResponse(`${url}/events/7/body`, MEMBERS.customer_email);
  expect(takeLeaks()).toEqual([]);
  checkResponse(`${url}/events`, MEMBERS.description);
  checkResponse(`${url}/events/7`, API_KEY);
  expect(takeLeaks()).toHaveLength(2);
});
