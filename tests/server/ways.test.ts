import { describe, expect, test } from 'vitest';
import { signWebhook } from '../../src/testing/sign-webhook.ts';
import { exchange } from '../support/network/raw-connection.ts';
import { WEBHOOK_SECRET } from '../support/secrets/canaries.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const LIMIT_BYTES = 10_000;
const service = useService({ MAX_BODY_BYTES: String(LIMIT_BYTES) });

/** An odd way to say the same, for which a framework is asked. */
const WAYS = {
  '/api/user': '/api/user?',
  '/api/stripe/webhook': '/api/stripe/webhook?',
  '/healthz': '/healthz?',
  '/readyz': '/readyz?',
};

/** The status, the headers and the body; not what depends on the time. */
async function answerTo(method: string, path: string, headers: readonly string[], body = '') {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers];
  const received = await exchange(service.url, `${lines.join('\r\n')}\r\n\r\n${body}`);
  const [head = '', ...rest] = received.split('\r\n\r\n');
  const [status, ...members] = head.split('\r\n');
  const kept = members.map((line) => line.toLowerCase()).filter((line) => !/^date:/.test(line));
  return { status, headers: kept.sort(), body: rest.join('\r\n\r\n') };
}

async function expectSame(
  method: string,
  path: keyof typeof WAYS,
  status: number,
  headers: readonly string[],
  body?: string,
): Promise<void> {
  const short = await answerTo(method, path, headers, body);
  expect(short.status).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(await answerTo(method, WAYS[path], headers, body)).toEqual(short);
}

describe('the short way and the long one give the same answer', () => {
  test('to who asks for a profile', async () => {
    const { id } = await service.addUser();
    await expectSame('GET', '/api/user', 200, [`Cookie: ${await service.cookieOf(id)}`]);
    await expectSame('GET', '/api/user', 200, ['Cookie: session=forged']);
    await expectSame('GET', '/api/user', 200, []);
  });

  test.each(['/healthz', '/readyz'] as const)('to %s', async (path) => {
    await expectSame('GET', path, 200, []);
  });

  const post = (body: string, secret: string) => [
    `Stripe-Signature: ${signWebhook(body, secret, Date.now())}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];

  test.each([
    ['an event', 200, WEBHOOK_SECRET, eventBody({ customerId: 'cus_ways' })],
    ['a forged one', 400, 'whsec_of_others', eventBody()],
    ['what is no JSON', 400, WEBHOOK_SECRET, '{'],
    ['nothing', 400, WEBHOOK_SECRET, ''],
    ['too much', 413, WEBHOOK_SECRET, 'x'.repeat(LIMIT_BYTES + 1)],
  ])('to %s', async (_, status, secret, body) => {
    await expectSame('POST', '/api/stripe/webhook', status, post(body, secret), body);
  });
});
