import { createLogger } from 'instep';
import { expect, onTestFinished, test } from 'vitest';
import { createTokenCheck, listenForOperators } from '../support/internals/operations.ts';
import { OPERATIONS_TOKEN, SHARED_TOKEN } from '../support/secrets/test-secrets.ts';

const logger = createLogger('silent');
const noCall = async () => {
  throw new RangeError('no calls');
};

test('without the console, the metrics are served, and / says how to install it', async () => {
  const listener = await listenForOperators({
    host: '127.0.0.1',
    port: 0,
    logger,
    checkToken: createTokenCheck([SHARED_TOKEN], logger),
  });
  onTestFinished(() => listener.close(1_000));
  const ask = (path: string, init?: RequestInit) => fetch(new URL(path, listener.url), init);
  expect((await ask('/')).status).toBe(503);

  const metrics = { contentType: 'text/plain', expose: async () => 'up 1\n' };
  listener.show({ metrics, pages: null, answerCall: noCall });
  expect(await (await ask('/')).text()).toContain('npm install instep-console');
  expect((await ask('/metrics')).status).toBe(401);
  const headers = { authorization: `Bearer ${OPERATIONS_TOKEN}` };
  expect(await (await ask('/metrics', { headers })).text()).toBe('up 1\n');
  expect((await ask('/metrics', { headers, method: 'POST' })).status).toBe(405);
});

test('metrics that cannot be read are an error, and the listener goes on', async () => {
  const listener = await listenForOperators({
    host: '127.0.0.1',
    port: 0,
    logger,
    checkToken: null,
  });
  onTestFinished(() => listener.close(1_000));
  const expose = () => Promise.reject(new RangeError('a defect'));
  listener.show({
    metrics: { contentType: 'text/plain', expose },
    pages: null,
    answerCall: noCall,
  });
  for (const _ of [1, 2]) expect((await fetch(`${listener.url}/metrics`)).status).toBe(500);
});
