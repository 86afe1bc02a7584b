import { signWebhook } from 'instep/testing';
import { expect, test } from 'vitest';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();
const FAILED = '{"error":"Webhook signature verification failed."}';

test('4 success: status 200, and the body is exactly received: true', async () => {
  const { customerId } = await service.addTeam();
  const response = await service.postSigned(eventBody({ customerId }));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.text()).toBe('{"received":true}');
});

test('4 the signature covers the raw bytes, spaces and umlauts included', async () => {
  const { teamId, customerId } = await service.addTeam();
  const event = JSON.parse(eventBody({ customerId }));
  const body = `\n ${JSON.stringify({ ...event, note: 'Ünïcödé €' }, null, 3)}\r\n`;
  expect((await service.postSigned(body)).status).toBe(200);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
});

test('4 the signing secret includes its prefix', async () => {
  const body = eventBody();
  const signature = signWebhook(body, WEBHOOK_SECRET.slice('whsec_'.length), Date.now());
  expect((await service.postRaw(body, { 'stripe-signature': signature })).status).toBe(400);
});

test("4 failure: status 400 with the contract's text, and nothing is processed", async () => {
  const { teamId, customerId } = await service.addTeam();
  const body = eventBody({ customerId });
  const stale = Date.now() - 301_000;
  const headers: Record<string, string>[] = [
    {},
    { 'stripe-signature': '' },
    { 'stripe-signature': 'v1' },
    { 'stripe-signature': signWebhook(body, 'whsec_other', Date.now()) },
    { 'stripe-signature': signWebhook(`${body} `, WEBHOOK_SECRET, Date.now()) },
    { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, stale) },
  ];
  for (const header of headers) {
    const response = await service.postRaw(body, header);
    expect(response.status).toBe(400);
    expect(await response.text()).toBe(FAILED);
  }
  expect(await service.planOf(teamId)).toEqual(NO_PLAN);
});

test('4 a signed body that is not JSON fails in the same way', async () => {
  for (const body of ['{', 'undefined', '\uFEFF{}']) {
    const response = await service.postSigned(body);
    expect(response.status).toBe(400);
    expect(await response.text()).toBe(FAILED);
  }
});

test('4 a signed body that is not UTF-8 fails in the same way', async () => {
  const signature = signWebhook('\uFFFD', WEBHOOK_SECRET, Date.now());
  const response = await service.postRaw(new Uint8Array([0xff]), { 'stripe-signature': signature });
  expect(response.status).toBe(400);
});

test('4 success when the type is not handled', async () => {
  const response = await service.postSigned(eventBody({ type: 'invoice.paid' }));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"received":true}');
});

test('4 success when no team matches the customer', async () => {
  const response = await service.postSigned(eventBody({ customerId: 'cus_nobody' }));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"received":true}');
});
