import { Server } from 'node:http';
import { createLogger, type Handler, listen } from 'instep';
import { expect, onTestFinished, test } from 'vitest';
import { openListener } from '../support/internals/server.ts';
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

const OK = { status: 200, headers: {}, body: 'ok' };

const BROKEN: Record<string, Handler> = {
  'that throws': () => {
    throw new RangeError('planted');
  },
  'that rejects': async () => {
    throw new RangeError('planted');
  },
  'with an invalid header': async () => ({ ...OK, headers: { 'X-Broken': 'a\nb' } }),
  'with an invalid status': async () => ({ ...OK, status: 1 }),
};

test.each(Object.entries(BROKEN))('a handler %s is answered 500 and logged', async (_, broken) => {
  const lines: Record<string, unknown>[] = [];
  const server = await listen({
    host: '127.0.0.1',
    port: 0,
    handle: (request) => (request.path === '/broken' ? broken(request) : Promise.resolve(OK)),
    logger: createLogger('info', { write: (line) => lines.push(JSON.parse(line)) }),
  });
  onTestFinished(() => server.close(1_000));
  const response = await fetch(`${server.url}/broken`);
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ error: 'Internal error.' });
  expect(lines).toEqual([
    expect.objectContaining({ msg: 'request failed', method: 'GET', path: '/broken' }),
  ]);
  expect((await fetch(`${server.url}/other`)).status).toBe(200);
});

test('connections that can not be accepted are logged, and the server goes on', async () => {
  const lines: string[] = [];
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    portVariable: 'PORT',
    maxConnections: 10,
    onRequest({ socket }, response) {
      if (!('server' in socket && socket.server instanceof Server))
        throw new TypeError('no server');
      socket.server.emit('error', new Error('accept EMFILE'));
      response.end('ok');
    },
    logger: createLogger('info', { write: (line) => lines.push(line) }),
  });
  onTestFinished(() => listener.close(0));
  for (let time = 0; time < 3; time += 1) {
    expect(await (await fetch(listener.url)).text()).toBe('ok');
  }
  expect(lines.filter((line) => line.includes('accept EMFILE'))).toHaveLength(3);
});
