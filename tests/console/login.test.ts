import { describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { OPERATIONS_TOKEN, SHARED_TOKEN, VIEWER_TOKEN } from '../support/secrets/test-secrets.ts';

const HOUR_MS = 3_600_000;
let nowMs = Date.now();
const service = await openConsole((await createDatabase()).database, {
  now: () => nowMs,
  tokens: [SHARED_TOKEN, VIEWER_TOKEN],
  metrics: { contentType: 'text/plain; version=0.0.4', expose: async () => 'up 1\n' },
});

test('a visitor is redirected to the login, and from there to the requested page', async () => {
  const operator = service.newOperator();
  const turned = await operator.get('/events?outcome=parked');
  expect(turned.status).toBe(303);
  const login = turned.headers.get('location') ?? '';
  expect(login).toBe('/login?next=%2Fevents%3Foutcome%3Dparked');
  const page = await (await operator.get(login)).text();
  expect(page).toContain('name="next" value="/events?outcome=parked"');
  expect(page).not.toContain('aria-label="Areas"');
  const answer = await operator.logIn(OPERATIONS_TOKEN, '/events?outcome=parked');
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/events?outcome=parked');
});

test('a wrong token is rejected and logged', async () => {
  const operator = service.newOperator();
  const answer = await operator.logIn(`${OPERATIONS_TOKEN}x`.replaceAll('canary', 'other'));
  expect(answer.status).toBe(401);
  expect(await answer.text()).toContain('Wrong token.');
  expect(operator.cookies.has('instep_operator')).toBe(false);
  expect((await operator.get('/')).status).toBe(303);
  expect(service.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', msg: 'wrong operations token' }),
  );
});

describe('the cookie', () => {
  async function cookieSet(headers: Record<string, string> = {}) {
    const operator = service.newOperator();
    const answer = await operator.post('/login', { token: OPERATIONS_TOKEN }, headers);
    return answer.headers.getSetCookie().find((set) => set.startsWith('instep_operator=')) ?? '';
  }

  test('is restricted to this site and to 12 hours', async () => {
    const cookie = await cookieSet();
    expect(cookie).toContain('; HttpOnly');
    expect(cookie).toContain('; SameSite=Lax');
    expect(cookie).toContain('; Path=/');
    expect(cookie).toContain('; Max-Age=43200');
    expect(cookie).not.toContain('Secure');
    expect(cookie).not.toContain('Domain');
  });

  test('is secure when the browser uses TLS', async () => {
    expect(await cookieSet({ 'x-forwarded-proto': 'https' })).toContain('; Secure');
    const { host } = new URL(service.url);
    expect(await cookieSet({ origin: `https://${host}` })).toContain('; Secure');
  });

  test('expires after 12 hours, even if the browser keeps it', async () => {
    const operator = service.newOperator();
    await operator.logIn(OPERATIONS_TOKEN);
    nowMs += 12 * HOUR_MS - 1;
    expect((await operator.get('/')).status).toBe(200);
    nowMs += 1;
    expect((await operator.get('/')).status).toBe(303);
  });

  test.each<[string, (value: string) => string]>([
    ['with another expiry', (value) => value.replace(/\.(\d)/, (_, digit) => `.${9 - digit}`)],
    ['with another id', (value) => value.replace(/^./, (first) => (first === 'a' ? 'b' : 'a'))],
    ['without a signature', (value) => value.replace(/\.[^.]*$/, '')],
    ['with another signature', (value) => value.replace(/\.[^.]*$/, `.${'A'.repeat(43)}%3D`)],
    ['without content', () => 'x'],
  ])('is rejected %s', async (_, forge) => {
    const operator = service.newOperator();
    await operator.logIn(OPERATIONS_TOKEN);
    const value = operator.cookies.get('instep_operator') ?? '';
    operator.cookies.set('instep_operator', forge(value));
    expect(operator.cookies.get('instep_operator')).not.toBe(value);
    expect((await operator.get('/')).status).toBe(303);
  });
});

describe('a bearer token', () => {
  const ask = (authorization: string, path = '/metrics') =>
    fetch(service.url + path, { headers: { authorization } });

  test('gives access to every page, without a cookie', async () => {
    const answer = await ask(`Bearer ${OPERATIONS_TOKEN}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await answer.text()).toBe('up 1\n');
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect((await ask(`bearer ${OPERATIONS_TOKEN}`, '/')).status).toBe(200);
  });

  test.each(['Bearer wrong', 'Bearer ', 'Basic b3BzOm9wcw==', ''])(
    'is rejected as %j',
    async (one) => {
      const answer = await ask(one);
      expect(answer.status).toBe(401);
      expect(await answer.text()).not.toContain('up 1');
    },
  );
});

test.each([
  ['https://evil.example/', '/'],
  ['//evil.example/', '/'],
  ['/\\evil.example', '/'],
  ['/.//evil.example', '/'],
  ['javascript:alert(1)', '/'],
  ['http://here.invalid//evil.example', '/'],
  ['/teams/1?x=%0d%0aSet-Cookie:a', '/teams/1?x=%0d%0aSet-Cookie:a'],
  ['teams', '/teams'],
])('a login for %j redirects to %j', async (wanted, path) => {
  const answer = await service.newOperator().logIn(OPERATIONS_TOKEN, wanted);
  expect(answer.headers.get('location')).toBe(path);
});

test('a part of a page reloads the page after the session has expired', async () => {
  const answer = await service.newOperator().get('/', { 'hx-request': 'true' });
  expect(answer.status).toBe(401);
  expect(answer.headers.get('hx-refresh')).toBe('true');
});

test('a visitor can load only the login and the assets', async () => {
  for (const path of ['/', '/teams', '/metrics', '/nothing', '/assets', '/assets/nothing']) {
    expect((await fetch(service.url + path, { redirect: 'manual' })).status).toBe(401);
  }
  const html = await (await service.newOperator().get('/login')).text();
  const files = [...html.matchAll(/(?:href|src)="(\/assets[^"]+)"/g)].map(([, path]) => path);
  expect(files.length).toBeGreaterThanOrEqual(4);
  for (const path of files) expect((await fetch(service.url + path)).status).toBe(200);
});
