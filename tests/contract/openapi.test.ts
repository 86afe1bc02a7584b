import { describe, expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';
import { operations, undescribed } from './openapi-document.ts';

const USER = 'GET /api/user';
const WEBHOOK = 'POST /api/stripe/webhook';

test("openapi.yaml describes the two endpoints, and the operations listener's calls", () => {
  const calls = [
    'GET /v1/teams/{id}/access',
    'POST /v1/customers/{id}/sync',
    'POST /v1/checkouts/{id}/complete',
  ];
  expect([...operations.keys()]).toEqual([USER, WEBHOOK, ...calls]);
});

describe('the server answers as openapi.yaml describes', () => {
  const service = useService();

  test('a profile', async () => {
    const { id } = await service.addUser();
    const response = await service.getUser(await service.cookieOf(id));
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await undescribed(USER, response)).toBeNull();
  });

  test('a request without a session', async () => {
    expect(await undescribed(USER, await service.getUser())).toBeNull();
  });

  test.each([
    ['a handled event', eventBody(), 200],
    ['an unhandled type', eventBody({ type: 'invoice.paid' }), 200],
  ])('%s', async (_, body, status) => {
    const response = await service.postSigned(body);
    expect(response.status).toBe(status);
    expect(await undescribed(WEBHOOK, response)).toBeNull();
  });

  test('a forged event', async () => {
    const response = await service.postRaw(eventBody(), { 'stripe-signature': 't=1,v1=00' });
    expect(response.status).toBe(400);
    expect(await undescribed(WEBHOOK, response)).toBeNull();
  });

  test('a wrong method', async () => {
    const response = await fetch(`${service.url}/api/user`, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(await undescribed(USER, response)).toBeNull();
  });
});

describe('a response that openapi.yaml does not describe is found', () => {
  const headers = { 'content-type': 'application/json' };
  const json = (body: unknown, status = 200) =>
    new Response(JSON.stringify(body), { status, headers });
  const user = {
    id: 1,
    name: null,
    email: 'ada@example.com',
    passwordHash: '!',
    role: 'member',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    deletedAt: null,
  };

  test('but not the same response with a described body', async () => {
    expect(await undescribed(USER, json(user))).toBeNull();
  });

  test.each([
    ['a wrong type', USER, json({ ...user, email: 1 })],
    ['a missing member', USER, json({ ...user, id: undefined })],
    ['an additional member', USER, json({ ...user, teamId: 1 })],
    ['a wrong time', USER, json({ ...user, createdAt: '2026-01-01' })],
    ['a wrong content type', USER, new Response('null')],
    ['a wrong constant', WEBHOOK, json({ received: false })],
    ['the body of another status', WEBHOOK, json({ received: true }, 400)],
  ])('%s', async (_, name, response) => {
    expect(await undescribed(name, response)).toContain(name);
  });
});
