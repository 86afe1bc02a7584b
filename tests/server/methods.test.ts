import { describe, expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';

const service = useService();

const GETTABLE = ['/api/user', '/healthz', '/readyz'];
const PATHS = [
  ...GETTABLE.map((path) => ({ path, allow: 'GET, HEAD' })),
  { path: '/api/stripe/webhook', allow: 'POST' },
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND'];

/** Headers that depend on the request or the body. */
const INCOMPARABLE = ['connection', 'keep-alive', 'date', 'content-length', 'transfer-encoding'];

function comparable({ headers }: Response) {
  return [...headers].filter(([name]) => !INCOMPARABLE.includes(name));
}

test.each(GETTABLE)('answers HEAD %s like GET, without the body', async (path) => {
  const { id } = await service.addUser();
  const headers = { cookie: await service.cookieOf(id) };
  const get = await fetch(service.url + path, { headers });
  const head = await fetch(service.url + path, { headers, method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(comparable(head)).toEqual(comparable(get));
  expect(await get.text()).not.toBe('');
  expect(await head.text()).toBe('');
});

describe.each(PATHS)('$path', ({ path, allow }) => {
  const others = METHODS.filter((method) => !allow.split(', ').includes(method));

  test.each(others)('answers 405 to %s, with the allowed methods', async (method) => {
    const response = await fetch(service.url + path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
    await expectError(response, method);
  });
});

test.each([
  '/',
  '/api',
  '/api/user/',
  '/api/user/1',
  '/api/users',
  '/API/user',
  '/api/stripe/webhook/',
  '/api/stripe',
  '//api/user',
  '/api//user',
  '/healthz/',
  '/readyz/deep',
  '/api/%zz',
  '/.env',
])('answers 404 to any method at %s', async (path) => {
  for (const method of METHODS) {
    const response = await fetch(service.url + path, { method });
    expect(response.status).toBe(404);
    await expectError(response, method);
  }
});

test('ignores the query', async () => {
  const response = await fetch(`${service.url}/api/user?id=1&_method=DELETE`);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('null');
});

async function expectError(response: Response, method: string): Promise<void> {
  const isProfile = new URL(response.url).pathname === '/api/user';
  const type = isProfile ? 'text/plain; charset=utf-8' : 'application/json';
  expect(response.headers.get('content-type')).toBe(type);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  // No other site can read it.
  const names = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
  expect(names).toEqual([]);
  const text = await response.text();
  if (method === 'HEAD') expect(text).toBe('');
  // Code that parses the response without a look at its status must fail, rather than take an error for a user.
  else if (isProfile) expect(() => JSON.parse(text)).toThrow(SyntaxError);
  else expect(JSON.parse(text)).toEqual({ error: expect.stringMatching(/^\S.*\.$/) });
}

test('keeps idle connections longer than proxies do', async () => {
  const response = await fetch(`${service.url}/healthz`);
  const [, seconds] = /^timeout=(\d+)$/.exec(response.headers.get('keep-alive') ?? '') ?? [];
  // Caddy's 2 minutes are the longest among those of docs/deploy/proxy.md.
  expect(Number(seconds)).toBeGreaterThan(120);
});
