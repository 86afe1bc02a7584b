import {
  listenForOperators,
  openOperations,
} from 'instep/src/operators-listener/open-operations.ts';
import { connectToServer } from 'instep/src/postgres/connect.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { API_KEY, OPERATIONS_TOKEN, SHARED_TOKEN } from '../support/secrets/test-secrets.ts';

test.each([
  ['on this machine', null],
  ['with a token', OPERATIONS_TOKEN],
])('the overview is read before the first request, %s', async (_, token) => {
  const { url } = await createDatabase();
  const server = await connectToServer({
    databaseUrl: url,
    dataFolder: '',
    notice: () => undefined,
  });
  const lines: string[] = [];
  const operations = await openOperations({
    config: {
      operations: { host: '127.0.0.1', port: 0, tokens: token === null ? [] : [SHARED_TOKEN] },
      stripeApi: { secretKey: API_KEY, baseUrl: new URL('http://127.0.0.1:9') },
      planSelection: 'newest',
      linkByMetadata: null,
    },
    logger: createLogger('info', { write: (line) => lines.push(line) }),
    now: Date.now,
  });
  const query = vi.fn();
  const open: typeof server.open = (options) => {
    const database = server.open(options);
    return { ...database, query: query.mockImplementation(database.query) };
  };
  await operations?.show({ ...server, open }, null);
  await operations?.close(1_000);
  expect(query).toHaveBeenCalled();
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['operations listening']);
});

test('without the console, the metrics are served, and the page at / says how to install it', async () => {
  const checkToken = async (token: string) =>
    token === OPERATIONS_TOKEN ? ({ name: 'ada', role: 'operator' } as const) : 'wrong';
  const listener = await listenForOperators({
    host: '127.0.0.1',
    port: 0,
    logger: createLogger('silent'),
    checkToken,
  });
  onTestFinished(() => listener.close(1_000));
  const ask = (path: string, init?: RequestInit) => fetch(new URL(path, listener.url), init);
  expect((await ask('/')).status).toBe(503);

  const metrics = { contentType: 'text/plain', expose: async () => 'up 1\n' };
  listener.show({ metrics, pages: null, syncApis: new Map() });
  const page = await ask('/');
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain('npm install instep-console');
  expect((await ask('/metrics')).status).toBe(401);
  const headers = { authorization: `Bearer ${OPERATIONS_TOKEN}` };
  expect(await (await ask('/metrics', { headers })).text()).toBe('up 1\n');
  expect((await ask('/metrics', { headers, method: 'POST' })).status).toBe(405);
});

test('metrics that cannot be read are an error, and the listener goes on', async () => {
  const listener = await listenForOperators({
    host: '127.0.0.1',
    port: 0,
    logger: createLogger('silent'),
    checkToken: null,
  });
  onTestFinished(() => listener.close(1_000));
  const expose = () => Promise.reject(new RangeError('a defect'));
  listener.show({
    metrics: { contentType: 'text/plain', expose },
    pages: null,
    syncApis: new Map(),
  });
  for (const _ of [1, 2]) expect((await fetch(`${listener.url}/metrics`)).status).toBe(500);
});
