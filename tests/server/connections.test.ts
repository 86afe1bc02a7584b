import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, type Handler, listen } from 'instep';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openConnection, statusesIn } from '../support/network/raw-connection.ts';

const GET = 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n';
const CLOSE = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const logger = createLogger('silent', { write: () => undefined });
const jsonResponse = (value: unknown) => ({
  status: 200,
  headers: {},
  body: JSON.stringify(value),
});

async function serve(handle: Handler): Promise<string> {
  const server = await listen({ host: '127.0.0.1', port: 0, handle, logger });
  onTestFinished(() => server.close(0));
  return server.url;
}

/** Answers with the path and the size of the body. */
const echo: Handler = async ({ path, body }) =>
  jsonResponse({ path, bytes: (await body(1_000_000)).byteLength });

test('a connection with more than eight unanswered requests is closed, and others are answered', async () => {
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
  const patient = openConnection(url);
  patient.write(GET.repeat(7) + CLOSE);
  const flood = openConnection(url);
  flood.write(GET.repeat(1_600));
  expect(await flood.closed()).toBe('');
  expect(handled).toBeLessThanOrEqual(16);
  open();
  expect(statusesIn(await patient.closed())).toEqual(Array(8).fill(200));
});

test('a client that keeps sending a few requests at once is served', async () => {
  const url = await serve(echo);
  const connection = openConnection(url);
  for (let sent = 8; sent <= 80; sent += 8) {
    connection.write(GET.repeat(8));
    await vi.waitFor(() => expect(statusesIn(connection.received)).toHaveLength(sent));
  }
});

test('requests with bodies that arrive together are answered in their order', async () => {
  const url = await serve(echo);
  const sized = (path: string, bytes: number) =>
    `POST /${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n${'b'.repeat(bytes)}`;
  const chunked =
    'POST /chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n' +
    `${'4\r\n\r\n\r\n\r\n'.repeat(1_000)}0\r\n\r\n`;
  const connection = openConnection(url);
  connection.write(
    [sized('large', 200_000), sized('small', 3), chunked, GET, sized('none', 0), CLOSE].join(''),
  );
  const bodies = [...(await connection.closed()).matchAll(/\{.*?\}/g)];
  expect(bodies.map(([body]) => JSON.parse(body))).toEqual([
    { path: '/large', bytes: 200_000 },
    { path: '/small', bytes: 3 },
    { path: '/chunked', bytes: 4_000 },
    { path: '/one', bytes: 0 },
    { path: '/none', bytes: 0 },
    { path: '/last', bytes: 0 },
  ]);
});

test('a request that arrives byte by byte is answered', async () => {
  const url = await serve(echo);
  const connection = openConnection(url);
  for (const byte of CLOSE) {
    connection.write(byte);
    await new Promise(setImmediate);
  }
  expect(statusesIn(await connection.closed())).toEqual([200]);
});

test.each([
  ['sends nothing', ''],
  [
    'sends many bytes',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n'.padEnd(60_000),
  ],
])(
  'a connection that %s and is reset, or waits when the server closes, does no harm',
  async (_, text) => {
    const server = await listen({ host: '127.0.0.1', port: 0, handle: echo, logger });
    for (let count = 0; count < 5; count += 1) {
      const left = openConnection(server.url);
      left.write(text);
      if (count % 2 === 0) await sleep(5);
      left.destroy();
    }
    const waiting = openConnection(server.url);
    waiting.write(text);
    expect((await fetch(server.url)).status).toBe(200);
    await server.close(1_000);
    expect(await waiting.closed()).toBe('');
  },
);
