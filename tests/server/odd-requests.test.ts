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

test.each([
  ['no Host', last(GET)],
  ['a folded header', last(GET, 'Host: x', 'Cookie: a=b', ' session=c')],
  ['a space before the colon', last(GET, 'Host: x', 'Cookie : a=b')],
  ['line feeds only', `${GET}\nHost: x\nConnection: close\n\n`],
  ['length and chunks', `${request(POST, 'Host: x', 'Content-Length: 5', CHUNKED)}0\r\n\r\n`],
  ['two lengths', `${request(POST, 'Host: x', 'Content-Length: 2', 'Content-Length: 3')}{} `],
  ['an unknown encoding', `${request(POST, 'Host: x', 'Transfer-Encoding: xchunked')}{}`],
])('answers 400 to what another server could read differently: %s', async (_, bytes) => {
  expect(statusesIn(await exchange(service.url, bytes))).toEqual([400]);
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

describe('answers as usual', () => {
  test.each([
    ['an absolute target', last('GET http://elsewhere.example/api/user HTTP/1.1', 'Host: x'), 200],
    ['HTTP/1.0', request('GET /api/user HTTP/1.0'), 200],
    ['an encoded path', last('GET /api/%75ser HTTP/1.1', 'Host: x'), 200],
    ['dots in the path', last('GET /api/stripe/../user HTTP/1.1', 'Host: x'), 200],
    ['GET with a body', `${last(GET, 'Host: x', 'Content-Length: 2')}{}`, 200],
    [
      'a request to upgrade',
      request(GET, 'Host: x', 'Connection: Upgrade, close', 'Upgrade: h2c'),
      200,
    ],
    ['TRACE', last('TRACE /api/user HTTP/1.1', 'Host: x'), 405],
    [
      'an unknown expectation',
      `${last(POST, 'Host: x', 'Expect: tea', 'Content-Length: 2')}{}`,
      417,
    ],
    ['16 kB of one header', last(GET, 'Host: x', `Cookie: session=${'x'.repeat(16_384)}`), 431],
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
