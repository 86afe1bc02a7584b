import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { type Handler, jsonResponse } from 'instep/src/server/http-message.ts';
import { listen } from 'instep/src/server/listener.ts';
import { limitPipelining } from 'instep/src/server/pipelining.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { exchange, openConnection, statusesIn } from '../support/network/raw-connection.ts';

const GET = 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n';
const CLOSE = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const COUNT = 1_600;

async function serve(handle: Handler): Promise<string> {
  const logger = createLogger('silent', { write: () => undefined });
  const server = await listen({ host: '127.0.0.1', port: 0, handle, logger });
  onTestFinished(() => server.close(0));
  return server.url;
}

/** Answers with the path and the size of the body. */
const echo: Handler = async ({ path, body }) =>
  jsonResponse({ path, bytes: (await body(1_000_000)).byteLength });

test('once a client has sent requests together, handles no more than a few of them at once, and then the others', async () => {
  let handled = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const url = await serve(async () => {
    handled += 1;
    await opened;
    return jsonResponse(handled);
  });
  const early = openConnection(url);
  early.write(GET.slice(0, 10));
  const first = openConnection(url);
  first.write(GET + CLOSE);
  await vi.waitFor(() => expect(handled).toBe(2));
  const later = openConnection(url);
  early.write(GET.slice(10) + GET.repeat(COUNT - 2) + CLOSE);
  later.write(GET.repeat(COUNT - 1) + CLOSE);
  await fetch(url, { signal: AbortSignal.timeout(200) }).catch(() => undefined);
  expect(handled).toBeLessThan(10);
  open();
  for (const one of [early, later]) expect(statusesIn(await one.closed())).toHaveLength(COUNT);
  expect(statusesIn(await first.closed())).toHaveLength(2);
});

test.each([
  ['requests', GET],
  ['requests that Node refuses', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: y\r\n\r\n'],
])('answers others while a connection has many %s left', async (_, request) => {
  const url = await serve(async () => jsonResponse(null));
  const flood = Array.from({ length: 20 }, () => openConnection(url));
  // Otherwise Node would accept them one by one, between the requests.
  for (const one of flood) one.write(GET);
  await Promise.all(flood.map((one) => one.receives(/null/)));
  for (const one of flood) one.write(request.repeat(COUNT));
  await fetch(url);
  const answered = flood.flatMap(({ received }) => statusesIn(received)).length;
  for (const one of flood) one.destroy();
  expect(answered).toBeLessThan((flood.length * COUNT) / 10);
});

test('answers requests with bodies in their order', async () => {
  const url = await serve(echo);
  const sized = (path: string, bytes: number) =>
    `POST /${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n${'b'.repeat(bytes)}`;
  const chunked =
    'POST /chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n' +
    `${'4\r\n\r\n\r\n\r\n'.repeat(1_000)}0\r\n\r\n`;
  const connection = openConnection(url);
  connection.write(
    [sized('small', 3), sized('large', 200_000), chunked, GET, sized('none', 0), CLOSE].join(''),
  );
  const bodies = [...(await connection.closed()).matchAll(/\{.*?\}/g)];
  expect(bodies.map(([body]) => JSON.parse(body))).toEqual([
    { path: '/small', bytes: 3 },
    { path: '/large', bytes: 200_000 },
    { path: '/chunked', bytes: 4_000 },
    { path: '/one', bytes: 0 },
    { path: '/none', bytes: 0 },
    { path: '/last', bytes: 0 },
  ]);
});

test('answers a request that arrives byte by byte, and one that follows early', async () => {
  const url = await serve(echo);
  const connection = openConnection(url);
  for (const byte of GET) {
    connection.write(byte);
    await new Promise(setImmediate);
  }
  connection.write(GET.slice(0, 10));
  await connection.receives(/"bytes":0/);
  connection.write(GET.slice(10) + CLOSE);
  expect(statusesIn(await connection.closed())).toEqual([200, 200, 200]);
});

test('answers a client that sends everything before it reads anything', async () => {
  const large = 'x'.repeat(20_000);
  const url = await serve(async () => jsonResponse(large));
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  socket.write(GET.repeat(COUNT - 1) + CLOSE);
  await new Promise((resolve) => setTimeout(resolve, 300));
  let received = 0;
  for await (const bytes of socket) received += (bytes as Uint8Array).byteLength;
  expect(received).toBeGreaterThan(COUNT * large.length);
});

test('serves without the limit, and says so once, where Node hides its parser', async () => {
  const server = createServer((_, response) => response.end('ok'));
  // As if Node no longer listened for data itself.
  server.on('connection', (connection) => connection.on('data', () => undefined));
  const warn = vi.fn();
  limitPipelining(server, { warn });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  for (let time = 0; time < 2; time += 1) {
    expect(statusesIn(await exchange(`http://127.0.0.1:${port}`, last))).toEqual([200]);
  }
  expect(warn).toHaveBeenCalledOnce();
});
