import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { DeadlineExceeded, Stopped } from 'instep-engine/runtime';
import { NEWEST_KNOWN_VERSION } from 'instep-engine/src/stripe/api-call.ts';
import Stripe from 'stripe';
import { afterAll, describe, expect, test } from 'vitest';
import { createStripeApi, StripeApiFailed } from '../support/internals/stripe.ts';
import { SELF_SIGNED } from '../support/network/certificates.ts';
import { serve } from '../support/network/local-server.ts';
import { freePort } from '../support/process/free-port.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { startStripeWith } from '../support/stripe/stripe-apis.ts';

test('requests the product with the key in the newest API version, and returns its name', async () => {
  const requests: unknown[] = [];
  const { retrieve } = await startStripeWith((request, response) => {
    const { authorization, 'stripe-version': version } = request.headers;
    requests.push([request.method, request.url, authorization, version]);
    response.end('{"id":"prod_1","object":"product","name":"Gold"}');
  });
  expect(await retrieve('prod_1')).toBe('Gold');
  expect(requests).toEqual([
    ['GET', '/v1/products/prod_1', `Bearer ${API_KEY}`, Stripe.API_VERSION],
  ]);
  expect(NEWEST_KNOWN_VERSION).toBe(Stripe.API_VERSION);
});

test('an unusual id stays within its path segment', async () => {
  const paths: unknown[] = [];
  const { retrieve } = await startStripeWith((request, response) => {
    paths.push(request.url);
    response.writeHead(404).end('{"error":{}}');
  });
  for (const id of ['../customers/cus_1', 'prod_1?expand=x', 'prod 1/%2F#', 'ü€']) {
    expect(await retrieve(id)).toBeNull();
  }
  for (const path of paths) expect(path).toMatch(/^\/v1\/products\/[^/?#]+$/);
});

test('the path of another address comes before the path of a request', async () => {
  const paths: unknown[] = [];
  const url = await serve((request, response) => {
    paths.push(request.url);
    response.writeHead(404).end('{"error":{}}');
  });
  for (const path of ['/stripe', '/stripe/']) {
    const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(path, url) });
    await api.retrieveProductName('prod_1');
  }
  expect(paths).toEqual(['/stripe/v1/products/prod_1', '/stripe/v1/products/prod_1']);
});

test.each([
  [429, { 'Retry-After': '3' }, { retryAfterMs: 3_000 }],
  [500, {}, { retryAfterMs: null, isForbidden: false, isRefused: false }],
  [403, {}, { isForbidden: true }],
  [400, {}, { isRefused: true }],
  // It is no list.
  [200, {}, {}],
])('an answer %i has the properties of its failure', async (status, headers, expected) => {
  const url = await serve((_, response) => {
    response.writeHead(status, headers).end('{}');
  });
  const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(url) });
  const failed = await api.listSubscriptions({ cursor: null }).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(StripeApiFailed);
  expect(failed).toMatchObject({ status, ...expected });
});

const PROXY = 'a proxy between Instep and Stripe may have answered';

describe('the error explains the failure when the API', () => {
  test.each<[string, RequestListener, string]>([
    [
      'answers HTML',
      (_, response) => void response.setHeader('Content-Type', 'text/html').end('<html>'),
      `answered 200 with text/html instead of JSON: ${PROXY}`,
    ],
    [
      'answers half of the JSON',
      (_, response) =>
        void response.setHeader('Content-Type', 'application/json').end('{"name":"Go'),
      'answered 200 with incomplete or malformed JSON',
    ],
    [
      'redirects',
      (_, response) => void response.writeHead(302, { Location: '/' }).end('{}'),
      `answered 302, a redirect: ${PROXY}`,
    ],
    [
      'limits the rate',
      (_, response) => void response.writeHead(429).end('{"error":{"code":"rate_limit"}}'),
      'answered 429 (rate_limit)',
    ],
    [
      'rejects the key with an unsafe code',
      (_, response) => void response.writeHead(401).end('{"error":{"code":"<b>"}}'),
      'answered 401',
    ],
    ['hangs up', (_, response) => void response.destroy(), "can't be reached"],
  ])('%s', async (_, listener, message) => {
    const { retrieve } = await startStripeWith(listener);
    const error = await retrieve('prod_1').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'STRIPE_API_FAILED',
      message: expect.stringContaining(message),
    });
  });

  test.each([
    ['refuses connections', 'http://127.0.0.1', '(ECONNREFUSED): check STRIPE_API_BASE'],
    ['has a port that fetch blocks', 'http://127.0.0.1:9', '(bad port)'],
    ['has no host name', 'http://api.invalid', "api.invalid can't be reached"],
  ])('%s', async (_, url, message) => {
    const baseUrl = new URL(url);
    if (url === 'http://127.0.0.1') baseUrl.port = String(await freePort());
    const api = createStripeApi({ secretKey: API_KEY, baseUrl });
    await expect(api.retrieveProductName('prod_1')).rejects.toThrow(message);
  });

  test('has a self-signed certificate, with what to do', async () => {
    const server = createServer(SELF_SIGNED).listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterAll(() => server.close());
    const { port } = server.address() as AddressInfo;
    const baseUrl = new URL(`https://127.0.0.1:${port}`);
    const api = createStripeApi({ secretKey: API_KEY, baseUrl });
    await expect(api.retrieveProductName('prod_1')).rejects.toThrow(
      /DEPTH_ZERO_SELF_SIGNED_CERT.* set NODE_EXTRA_CA_CERTS/,
    );
  });
});

describe('a call that takes too long', () => {
  /** An API that sends single bytes and never finishes, and a promise for the end of its connection. */
  async function startDripping() {
    let close: () => void = () => undefined;
    let arrive: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const url = await serve((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      const dripping = setInterval(() => response.write(' '), 50);
      response.once('close', () => {
        clearInterval(dripping);
        close();
      });
      arrive();
    });
    const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(url) });
    return { api, arrived, closed };
  }

  test('ends at its deadline, with its connection', async () => {
    const { api, closed } = await startDripping();
    await expect(api.retrieveProductName('prod_1')).rejects.toBeInstanceOf(DeadlineExceeded);
    await closed;
  });

  test('ends when its signal is aborted, with its connection', async () => {
    const { api, arrived, closed } = await startDripping();
    const stopping = new AbortController();
    const ended = api.listSubscriptions({ cursor: null }, stopping.signal);
    await arrived;
    stopping.abort();
    await expect(ended).rejects.toBeInstanceOf(Stopped);
    await closed;
  });
});
