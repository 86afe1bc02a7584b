import { createLogger } from 'instep';
import { signWebhook } from 'instep/testing';
import { DatabaseUnavailable } from 'instep-engine/postgres';
import { Router } from 'instep-engine/src/http/router.ts';
import { NO_INSTRUMENTATION } from 'instep-engine/src/runtime/instrumentation.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReadinessEndpoint, UserEndpoint, WebhookEndpoint } from '../support/internals/server.ts';
import { SignatureVerifier } from '../support/internals/stripe.ts';
import { eventBody } from '../support/stripe/events.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SECRET = 'whsec_test';

/** A server whose database is unreachable, or fails in another way. */
function serve(error: Error = new DatabaseUnavailable('connection refused')) {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
  const away = async () => {
    throw error;
  };
  const webhook = new WebhookEndpoint({
    verifier: new SignatureVerifier([SECRET]),
    pipeline: { ingest: away, hasRoom: () => true },
    retrieveEvent: away,
    keyMode: null,
    instrumentation: NO_INSTRUMENTATION,
    logger,
    now: Date.now,
    nonce: () => 'nonce',
    maxBodyBytes: 100_000,
    requestDeadlineMs: 1_000,
  });
  const router = new Router({
    user: new UserEndpoint({
      sessions: { read: async () => ({ userId: 1, expiresAtMs: 0 }) },
      query: away,
      maxQueued: 10,
      includePasswordHash: true,
      requestDeadlineMs: 1_000,
    }),
    webhook,
    readiness: new ReadinessEndpoint({ isShuttingDown: () => false, checkDatabase: away, logger }),
    instrumentation: NO_INSTRUMENTATION,
    logger,
  });
  const send = async (method: string, path: string, header: Record<string, string>, body = '') =>
    await router.handle({
      method,
      path,
      header: (name) => header[name] ?? null,
      body: async () => Buffer.from(body),
    });
  return { lines, send };
}

const COOKIE = { cookie: 'session=a.b.c' };

test('a flood of failed requests writes a few log lines, which count all of them', async () => {
  const { lines, send } = serve();
  for (let count = 0; count < 1_000; count += 1) {
    expect(await send('GET', '/api/user', COOKIE)).toMatchObject({ status: 503 });
  }
  vi.advanceTimersByTime(1_000);
  expect(lines).toHaveLength(11);
  expect(lines[0]).toMatchObject({ msg: 'request failed', path: '/api/user' });
  expect(lines.at(-1)).toMatchObject({ msg: 'request failed', suppressed: 990 });
});

test('a bug is a 500 that says nothing of it, and its log line has the stack', async () => {
  const { lines, send } = serve(new TypeError('a bug'));
  const body = eventBody({ eventId: 'evt_1' });
  const header = { 'stripe-signature': signWebhook(body, SECRET, Date.now()) };
  const response = await send('POST', '/api/stripe/webhook', header, body);
  expect(response.status).toBe(500);
  expect(String(response.body)).not.toContain('a bug');
  const stack = expect.stringMatching(/^TypeError: a bug\n +at /);
  expect(lines).toEqual([
    expect.objectContaining({ eventId: 'evt_1', err: expect.objectContaining({ stack }) }),
  ]);
});
