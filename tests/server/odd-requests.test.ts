import { afterEach, describe, expect, test } from 'vitest';
import { exchange, openConnection, statusesIn } from '../support/network/raw-connection.ts';
import { useService } from '../support/service/contract-service.ts';

const service = useService();

afterEach(async () => {
  expect(await (await fetch(`${service.url}/healthz`)).json()).toEqual({ status: 'ok' });
});

const GET = 'GET /api/user HTTP/1.1';
const POST = 'POST /api/stripe/webhook HTTP/1.1';
const request = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
/** A request that ends its connection. */
const last = (...lines: string[]) => request(...lines, 'Connection: close');
const bodyOf = (response: string) => response.slice(response.indexOf('\r\n\r\n') + 4);
const CHUNKED = 'Transfer-Encoding: chunked';

describe('answers 400', () => {
  test.each([
    ['no Host', last(GET)],
    ['a lower-case method', last('get /api/user HTTP/1.1', 'Host: x')],
    ['an unknown method', last('FETCH /api/user HTTP/1.1', 'Host: x')],
    ['no path at all', last('GET api/user HTTP/1.1', 'Host: x')],
    ['NUL in the path', last('GET /api/\0user HTTP/1.1', 'Host: x')],
    ['NUL in a header', last(GET, 'Host: x', 'Cookie: session=\0')],
    ['a folded header', last(GET, 'Host: x', 'Cookie: a=b', ' session=c')],
    ['a space before the colon', last(GET, 'Host: x', 'Cookie : a=b')],
    ['line feeds only', `${GET}\nHost: x\nConnection: close\n\n`],
    ['length and chunks', `${request(POST, 'Host: x', 'Content-Length: 5', CHUNKED)}0\r\n\r\n`],
    ['chunks and length', `${request(POST, 'Host: x', CHUNKED, 'Content-Length: 5')}0\r\n\r\n`],
    ['two lengths', `${request(POST, 'Host: x', 'Content-Length: 2', 'Content-Length: 3')}{} `],
    ['a length below zero', `${request(POST, 'Host: x', 'Content-Length: -1')}{}`],
    ['a length that is not a number', `${request(POST, 'Host: x', 'Content-Length: 2, 2')}{}`],
    ['a length of 20 digits', `${request(POST, 'Host: x', `Content-Length: ${'9'.repeat(20)}`)}{}`],
    ['an unknown encoding', `${request(POST, 'Host: x', 'Transfer-Encoding: xchunked')}{}`],
    ['a chunk without a size', `${request(POST, 'Host: x', CHUNKED)}zz\r\n{}\r\n0\r\n\r\n`],
    ['HTTP/1.2', last('GET /api/user HTTP/1.2', 'Host: x')],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('%s', async (_, bytes) => {
    expect(statusesIn(await exchange(service.url, bytes))).toEqual([400]);
  });
});

describe('answers 400 and says what is invalid', () => {
  const HOST = 'The Host header must contain exactly one valid host.';
  const PATH = 'The request target is not a valid path.';
  test.each([
    ['two Hosts', last(POST, 'Host: x', 'Host: y'), HOST],
    ['the same Host twice', last(POST, 'Host: x', 'Host: x'), HOST],
    ['an invalid Host', last(POST, 'Host: a b@c/d'), HOST],
    ['an invalid absolute target', last('GET http://[/api/user HTTP/1.1', 'Host: x'), PATH],
    ['another protocol', last('GET ftp://x/api/user HTTP/1.1', 'Host: x'), PATH],
    ['an asterisk', last('OPTIONS * HTTP/1.1', 'Host: x'), PATH],
    ['a backslash', last('GET /api\\user HTTP/1.1', 'Host: x'), PATH],
  ])('%s', async (_, bytes, error) => {
    const received = await exchange(service.url, bytes);
    expect(statusesIn(received)).toEqual([400]);
    expect(JSON.parse(bodyOf(received))).toEqual({ error });
  });

  test('in plain text for the profile', async () => {
    const received = await exchange(service.url, last(GET, 'Host: x', 'Host: y'));
    expect(statusesIn(received)).toEqual([400]);
    expect(bodyOf(received)).toBe(`${HOST}\n`);
  });
});

test.each([
  ['invalid HTTP', last('get /api/user HTTP/1.1', 'Host: x'), 400],
  ['16 kB of headers', last(GET, 'Host: x', `Cookie: session=${'x'.repeat(16_384)}`), 431],
])('has an empty body if Node.js rejects the request: %s', async (_, bytes, status) => {
  const received = await exchange(service.url, bytes);
  expect(statusesIn(received)).toEqual([status]);
  expect(bodyOf(received)).toBe('');
});

describe('answers as usual', () => {
  test.each([
    ['an absolute target', last('GET http://elsewhere.example/api/user HTTP/1.1', 'Host: x'), 200],
    ['an empty Host', last(GET, 'Host:'), 200],
    ['HTTP/0.9', 'GET /api/user\r\n\r\n', 200],
    ['HTTP/1.0', request('GET /api/user HTTP/1.0'), 200],
    ['an encoded path', last('GET /api/%75ser HTTP/1.1', 'Host: x'), 200],
    ['dots in the path', last('GET /api/stripe/../user HTTP/1.1', 'Host: x'), 200],
    ['a header __proto__', last(GET, 'Host: x', '__proto__: x', 'constructor: x'), 200],
    ['GET with a body', `${last(GET, 'Host: x', 'Content-Length: 2')}{}`, 200],
    [
      'a request to upgrade',
      request(GET, 'Host: x', 'Connection: Upgrade, close', 'Upgrade: h2c'),
      200,
    ],
    ['TRACE', last('TRACE /api/user HTTP/1.1', 'Host: x'), 405],
    ['TRACE of the webhook', last('TRACE /api/stripe/webhook HTTP/1.1', 'Host: x'), 405],
    ['TRACE of nothing', last('TRACE /nowhere HTTP/1.1', 'Host: x'), 404],
    ['POST without a length', last(POST, 'Host: x'), 400],
    [
      'an unknown expectation',
      `${last(POST, 'Host: x', 'Expect: tea', 'Content-Length: 2')}{}`,
      417,
    ],
    ['16 kB of one header', last(GET, 'Host: x', `Cookie: session=${'x'.repeat(16_384)}`), 431],
    ['16 kB of small headers', last(GET, 'Host: x', ...Array(3_000).fill('Cookie: ab')), 431],
    ['16 kB of a path', last(`GET /${'x'.repeat(16_384)} HTTP/1.1`, 'Host: x'), 431],
  ])('%s', async (_, bytes, status) => {
    expect(statusesIn(await exchange(service.url, bytes))).toEqual([status]);
  });
});

test('TRACE does not echo the request', async () => {
  const bytes = last('TRACE /api/user HTTP/1.1', 'Host: x', 'Cookie: session=canary');
  expect(await exchange(service.url, bytes)).not.toContain('canary');
});

test.each(['example.com:443', '/api/user', '127.0.0.1:22'])(
  'closes the connection of CONNECT %s',
  async (target) => {
    const received = await exchange(service.url, request(`CONNECT ${target} HTTP/1.1`, 'Host: x'));
    expect(received).not.toMatch(/^HTTP\/1\.1 [25]/);
  },
);

test('answers health checks in HTTP/1.0 without a Host', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const received = await exchange(service.url, request(`GET ${path} HTTP/1.0`));
    expect(statusesIn(received)).toEqual([200]);
  }
});

test('answers pipelined requests in their order', async () => {
  const received = await exchange(
    service.url,
    request(GET, 'Host: x') +
      `${request(POST, 'Host: x', 'Content-Length: 2')}{}` +
      request('GET /nowhere HTTP/1.1', 'Host: x') +
      `${request(POST, 'Host: x', CHUNKED)}2\r\n{}\r\n0\r\n\r\n` +
      request('GET /readyz HTTP/1.1', 'Host: x') +
      last('PUT /healthz HTTP/1.1', 'Host: x'),
  );
  expect(statusesIn(received)).toEqual([200, 400, 404, 400, 200, 405]);
});

test('does not treat the body of one request as another request', async () => {
  const smuggled = request('DELETE /api/user HTTP/1.1', 'Host: x');
  const received = await exchange(
    service.url,
    `${request(POST, 'Host: x', `Content-Length: ${smuggled.length}`)}${smuggled}` +
      last(GET, 'Host: x'),
  );
  expect(statusesIn(received)).toEqual([400, 200]);
});

test('answers 100 to a sender that expects it', async () => {
  const connection = openConnection(service.url);
  const signature = `Stripe-Signature: t=1,v1=${'0'.repeat(64)}`;
  connection.write(last(POST, 'Host: x', 'Expect: 100-continue', 'Content-Length: 2', signature));
  await connection.receives(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  connection.write('{}');
  expect(statusesIn(await connection.closed())).toEqual([100, 400]);
});

test('answers others while 1,000 connections send nothing', async () => {
  const silent = Array.from({ length: 1_000 }, () => openConnection(service.url));
  const { id } = await service.addUser();
  const profile = await service.getUser(await service.cookieOf(id));
  expect(await profile.json()).toMatchObject({ id });
  for (const connection of silent) connection.destroy();
});
