import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { API_KEY } from '../support/secrets/canaries.ts';
import { useStripeApis } from '../support/stripe/stripe-apis.ts';

const apis = useStripeApis();

test('asks for the product with the key, and returns its name', async () => {
  const asked: unknown[] = [];
  const { retrieve } = await apis.startOdd((request, response) => {
    asked.push([request.method, request.url, request.headers.authorization]);
    response.end('{"id":"prod_1","object":"product","name":"Gold"}');
  });
  expect(await retrieve('prod_1')).toBe('Gold');
  expect(asked).toEqual([['GET', '/v1/products/prod_1', `Bearer ${API_KEY}`]]);
});

test('an odd id stays within its place in the path', async () => {
  const paths: unknown[] = [];
  const { retrieve } = await apis.startOdd((request, response) => {
    paths.push(request.url);
    response.writeHead(404).end('{"error":{}}');
  });
  for (const id of ['../customers/cus_1', 'prod_1?expand=x', 'prod 1/%2F#', 'ü€']) {
    expect(await retrieve(id)).toBeNull();
  }
  for (const path of paths) expect(path).toMatch(/^\/v1\/products\/[^/?#]+$/);
});

test('a product that there is not has no name', async () => {
  const { retrieve } = await apis.start({ prod_1: 'Gold' });
  expect(await retrieve('prod_2')).toBeNull();
});

test.each<[string, RequestListener, string]>([
  ['fails', (_, response) => void response.writeHead(500).end('{"error":{}}'), '(500)'],
  ['fails in other words', (_, response) => void response.writeHead(502).end('{}'), '502'],
  [
    'is elsewhere',
    (_, response) => void response.writeHead(302, { Location: '/' }).end('{}'),
    '302',
  ],
  ['has enough of us', (_, response) => void response.writeHead(429).end('{"error":{}}'), '(429)'],
  ['refuses the key', (_, response) => void response.writeHead(401).end('{"error":{}}'), '(401)'],
  ['hangs up', (_, response) => void response.destroy(), 'StripeConnectionError (no answer)'],
])('an API that %s is an error with its status', async (_, listener, message) => {
  const { retrieve } = await apis.startOdd(listener);
  const error = await retrieve('prod_1').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'STRIPE_API_FAILED' });
  expect(String(error)).toContain(message);
});
