import { describe, expect, test } from 'vitest';
import { OPERATIONS_TOKEN } from '../../support/secrets/canaries.ts';
import { useConsole } from '../../support/service/console-service.ts';

const HOUR_MS = 3_600_000;
const service = useConsole({
  token: OPERATIONS_TOKEN,
  metrics: { contentType: 'text/plain; version=0.0.4', expose: async () => 'up 1\n' },
});

test('whoever is not logged in is led to the login, and from there to where they wanted', async () => {
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

test('who knows the token sees the pages, until they log out', async () => {
  const operator = service.newOperator();
  await operator.logIn(OPERATIONS_TOKEN);
  const page = await operator.get('/');
  expect(page.status).toBe(200);
  const html = await page.text();
  expect(html).toContain('Log out');
  expect(html).toContain('aria-label="Areas"');
  expect((await operator.get('/login')).headers.get('location')).toBe('/');
  const { status } = await operator.post('/logout', { csrf: await operator.csrfOn('/') });
  expect(status).toBe(303);
  expect(operator.cookies.has('instep_operator')).toBe(false);
  expect((await operator.get('/')).status).toBe(303);
  expect(service.lines.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['operator logged in', 'operator logged out']),
  );
});

test('a wrong token is told, and opens nothing', async () => {
  const operator = service.newOperator();
  const answer = await operator.logIn(`${OPERATIONS_TOKEN}x`.replaceAll('canary', 'other'));
  expect(answer.status).toBe(401);
  expect(await answer.text()).toContain('That is not OPS_TOKEN.');
  expect(operator.cookies.has('instep_operator')).toBe(false);
  expect((await operator.get('/')).status).toBe(303);
  expect(service.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', msg: 'wrong operations token' }),
  );
});

describe('the cookie', () => {
  async function cookieSet(headers: Record<string, string> = {}) {
    const operator = service.newOperator();
    const csrf = await operator.csrfOn('/login');
    const answer = await operator.post('/login', { csrf, token: OPERATIONS_TOKEN }, headers);
    return answer.headers.getSetCookie().find((set) => set.startsWith('instep_operator=')) ?? '';
  }

  test('is for us alone, for twelve hours', async () => {
    const cookie = await cookieSet();
    expect(cookie).toContain('; HttpOnly');
    expect(cookie).toContain('; SameSite=Strict');
    expect(cookie).toContain('; Path=/');
    expect(cookie).toContain('; Max-Age=43200');
    expect(cookie).not.toContain('Secure');
    expect(cookie).not.toContain('Domain');
  });

  test('travels by TLS only, where the browser speaks TLS', async () => {
    expect(await cookieSet({ 'x-forwarded-proto': 'https' })).toContain('; Secure');
    const { host } = new URL(service.url);
    expect(await cookieSet({ origin: `https://${host}` })).toContain('; Secure');
  });

  test('is over after twelve hours, whatever the browser keeps', async () => {
    const operator = service.newOperator();
    await operator.logIn(OPERATIONS_TOKEN);
    service.clock.nowMs += 12 * HOUR_MS - 1;
    expect((await operator.get('/')).status).toBe(200);
    service.clock.nowMs += 1;
    expect((await operator.get('/')).status).toBe(303);
  });

  test.each<[string, (value: string) => string]>([
    ['with another end', (value) => value.replace(/\.(\d)/, (_, digit) => `.${9 - digit}`)],
    ['with another id', (value) => value.replace(/^./, (first) => (first === 'a' ? 'b' : 'a'))],
    ['without a signature', (value) => value.replace(/\.[^.]*$/, '')],
    ['with another signature', (value) => value.replace(/\.[^.]*$/, `.${'A'.repeat(43)}%3D`)],
    ['of nothing', () => 'x'],
  ])('counts for nothing %s', async (_, forge) => {
    const operator = service.newOperator();
    await operator.logIn(OPERATIONS_TOKEN);
    const value = operator.cookies.get('instep_operator') ?? '';
    operator.cookies.set('instep_operator', forge(value));
    expect(operator.cookies.get('instep_operator')).not.toBe(value);
    expect((await operator.get('/')).status).toBe(303);
  });

  test('of a visit is none of a login, though both are signed', async () => {
    const operator = service.newOperator();
    await operator.get('/login');
    const visit = operator.cookies.get('instep_visit');
    if (visit === undefined) throw new RangeError('no visit');
    operator.cookies.set('instep_operator', visit);
    expect((await operator.get('/')).status).toBe(303);
  });
});

describe('a bearer token', () => {
  const ask = (authorization: string, path = '/metrics') =>
    fetch(service.url + path, { headers: { authorization } });

  test('opens all that the login does, without a cookie', async () => {
    const answer = await ask(`Bearer ${OPERATIONS_TOKEN}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await answer.text()).toBe('up 1\n');
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect((await ask(`bearer ${OPERATIONS_TOKEN}`, '/')).status).toBe(200);
  });

  test.each(['Bearer wrong', 'Bearer ', 'Basic b3BzOm9wcw==', ''])('is needed: %j', async (one) => {
    const answer = await ask(one);
    expect(answer.status).toBe(401);
    expect(await answer.text()).not.toContain('up 1');
  });

  test('needs no field in a form, which no other site could make up either', async () => {
    const headers = { authorization: `Bearer ${OPERATIONS_TOKEN}` };
    const answer = await fetch(`${service.url}/nothing`, { method: 'POST', headers });
    expect(answer.status).toBe(404);
  });
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
])('the login leads to %j as to %j', async (wanted, path) => {
  const answer = await service.newOperator().logIn(OPERATIONS_TOKEN, wanted);
  expect(answer.headers.get('location')).toBe(path);
});

test('a link from another site asks once more, with the cookie that it came without', async () => {
  const operator = service.newOperator();
  const arrival = await operator.get('/teams/1', { 'sec-fetch-site': 'cross-site' });
  expect(arrival.status).toBe(200);
  expect(await arrival.text()).toContain('<meta http-equiv="refresh" content="0"/>');
  const again = await operator.get('/teams/1', { 'sec-fetch-site': 'same-origin' });
  expect(again.status).toBe(303);
});

test('a part of a page whose session is over loads the page again', async () => {
  const answer = await service.newOperator().get('/', { 'hx-request': 'true' });
  expect(answer.status).toBe(401);
  expect(answer.headers.get('hx-refresh')).toBe('true');
});

test('nobody sees anything but the login and what it is made of', async () => {
  for (const path of ['/', '/teams', '/metrics', '/nothing', '/assets', '/assets/nothing']) {
    expect((await fetch(service.url + path, { redirect: 'manual' })).status).toBe(401);
  }
  const html = await (await service.newOperator().get('/login')).text();
  const files = [...html.matchAll(/(?:href|src)="(\/assets[^"]+)"/g)].map(([, path]) => path);
  expect(files.length).toBeGreaterThanOrEqual(5);
  for (const path of files) expect((await fetch(service.url + path)).status).toBe(200);
});
