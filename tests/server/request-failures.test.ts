import { createLogger } from 'instep';
import { signWebhook } from 'instep/testing';
import { Router } from 'instep-engine/src/http/router.ts';
import { NO_INSTRUMENTATION } from 'instep-engine/src/runtime/instrumentation.ts';
import { expect, test } from 'vitest';
import { ReadinessEndpoint, UserEndpoint, WebhookEndpoint } from '../support/internals/server.ts';
import { SignatureVerifier } from '../support/internals/stripe.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

test('a bug is a 500 that says nothing of it, and its log line has the stack', async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
  const fail = () => Promise.reject(new TypeError('a bug'));
  const router = new Router({
    user: new UserEndpoint({
      sessions: { read: fail },
      query: fail,
      includePasswordHash: true,
      requestDeadlineMs: 1_000,
    }),
    webhook: new WebhookEndpoint({
      verifier: new SignatureVerifier([WEBHOOK_SECRET]),
      pipeline: { ingest: fail, hasRoom: () => true },
      retrieveEvent: fail,
      keyMode: null,
      instrumentation: NO_INSTRUMENTATION,
      logger,
      now: Date.now,
      nonce: () => 'nonce',
      maxBodyBytes: 100_000,
      requestDeadlineMs: 1_000,
    }),
    readiness: new ReadinessEndpoint({ isShuttingDown: () => false, checkDatabase: fail, logger }),
    instrumentation: NO_INSTRUMENTATION,
    logger,
  });
  const body = eventBody({ eventId: 'evt_1' });
  const signature = signWebhook(body, WEBHOOK_SECRET, Date.now());
  const response = await router.handle({
    method: 'POST',
    path: '/api/stripe/webhook',
    header: (name) => (name === 'stripe-signature' ? signature : null),
    body: async () => Buffer.from(body),
  });
  expect(response.status).toBe(500);
  expect(String(response.body)).not.toContain('a bug');
  const stack = expect.stringMatching(/^TypeError: a bug\n +at /);
  expect(lines).toEqual([
    expect.objectContaining({ eventId: 'evt_1', err: expect.objectContaining({ stack }) }),
  ]);
});
