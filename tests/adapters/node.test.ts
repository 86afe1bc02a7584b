import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createNodeHandler } from 'instep/node';
import { signWebhook } from 'instep/testing';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

const url = await createMigratedDatabase();
const environment = { ...SETTINGS, DATABASE_URL: url.href, LOG_LEVEL: 'silent' };
const instep = createNodeHandler({ environment, maintenance: 'off' });
afterAll(() => instep.close());

const servers: Server[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const body = eventBody();
const headers = () => ({ 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) });
const post = (url: string) =>
  fetch(`${url}/api/stripe/webhook`, { method: 'POST', headers: headers(), body });

test('answers both endpoints', async () => {
  const url = await serve(instep);
  expect(await (await fetch(`${url}/api/user`)).json()).toBeNull();
  expect(await (await post(url)).json()).toEqual({ received: true });
  expect((await fetch(`${url}/other`)).status).toBe(404);
});

test('leaves other paths to the next middleware', async () => {
  const url = await serve((request, response) =>
    instep(request, response, () => response.end('the app')),
  );
  expect(await (await fetch(`${url}/other`)).text()).toBe('the app');
  expect(await (await fetch(`${url}/api/user`)).json()).toBeNull();
});

test('finds the path although Express has removed a prefix', async () => {
  const url = await serve((request, response) => {
    Object.assign(request, { originalUrl: request.url, url: '/user' });
    instep(request, response);
  });
  expect((await fetch(`${url}/api/user`)).status).toBe(200);
});

test('names the cause when the body was parsed before', async () => {
  const url = await serve(async (request, response) => {
    Object.assign(request, { body: JSON.parse(await text(request)) });
    instep(request, response);
  });
  const response = await post(url);
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ error: expect.stringContaining('express.json()') });
});

test.each([
  ['express.raw()', (bytes: Buffer) => ({ body: bytes })],
  ['NestJS', (bytes: Buffer) => ({ body: JSON.parse(String(bytes)), rawBody: bytes })],
])('accepts the exact bytes that %s has read', async (_, members) => {
  const url = await serve(async (request, response) => {
    Object.assign(request, members(Buffer.from(await text(request))));
    instep(request, response);
  });
  expect((await post(url)).status).toBe(200);
});
