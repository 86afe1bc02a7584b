import { createLogger, type Handler, listen } from 'instep';
import { expect, onTestFinished, test } from 'vitest';

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
