import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createHandler, createLogger } from 'instep';
import { createNodeHandler } from 'instep/node';
import { signWebhook } from 'instep/testing';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { serve } from '../support/network/local-server.ts';
import { openConnection } from '../support/network/raw-connection.ts';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { postSigned, SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

const url = await createMigratedDatabase();
const environment = { ...SETTINGS, DATABASE_URL: url.href, LOG_LEVEL: 'silent' };
const instep = createNodeHandler({ environment, maintenance: 'off' });
afterAll(() => instep.close());

/** Errors that would have ended the process of an app. */
const fatal: unknown[] = [];
const onFatal = (error: unknown) => fatal.push(error);
const warnings: unknown[] = [];
const onWarning = (warning: unknown) => warnings.push(warning);
beforeEach(() => {
  process.on('unhandledRejection', onFatal).on('uncaughtException', onFatal);
  process.on('warning', onWarning);
});
afterEach(async () => {
  vi.useRealTimers();
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off('unhandledRejection', onFatal).off('uncaughtException', onFatal);
  process.off('warning', onWarning);
  expect(fatal.splice(0)).toEqual([]);
  warnings.length = 0;
});

const body = eventBody();

test('answers both endpoints', async () => {
  const url = await serve(instep);
  expect(await (await fetch(`${url}/api/user`)).json()).toBeNull();
  expect(await (await postSigned(url, body)).json()).toEqual({ received: true });
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
  const response = await postSigned(url, body);
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
  expect((await postSigned(url, body)).status).toBe(200);
});

const signed = () => signWebhook('{}', WEBHOOK_SECRET, Date.now());
const START = () =>
  `POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nStripe-Signature: ${signed()}\r\n`;
const HALF = () => `${START()}Content-Length: 100\r\n\r\n{`;
const WHOLE = () => `${START()}Content-Length: 2\r\n\r\n{}`;

type Host = (request: IncomingMessage, response: ServerResponse) => void;

/** What an app can do with a request that it has already passed to Instep, or is about to. */
const MEANWHILE: Readonly<Record<string, Host>> = {
  'answers itself': (_, response) => response.end('the app'),
  'begins an answer': (_, response) => response.write('the'),
  'sends headers': (_, response) => response.flushHeaders(),
  'destroys the socket': ({ socket }) => socket.destroy(),
  'resets the socket': ({ socket }) => socket.resetAndDestroy(),
  'destroys the response': (_, response) => response.destroy(new Error('of the app')),
  'destroys the request': (request) => request.destroy(new Error('of the app')),
  'has a response that throws': (_, response) => {
    response.writeHead = () => {
      throw new Error('of the app');
    };
  },
};
const WHENS = ['before', 'during', 'after'] as const;
const CASES = Object.keys(MEANWHILE).flatMap((what) =>
  WHENS.flatMap((when) => (['half', 'whole'] as const).map((body) => [what, when, body] as const)),
);

test.each(CASES)(
  'survives a host that %s, %s, of a request with %s a body',
  async (what, when, body) => {
    await (await fetch(`${await serve(instep)}/api/user`)).text();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const act = MEANWHILE[what] ?? (() => undefined);
    let taken = false;
    const url = await serve((request, response) => {
      if (when === 'before') act(request, response);
      instep(request, response);
      if (when === 'during') act(request, response);
      if (when === 'after') setImmediate(() => act(request, response));
      taken = true;
    });
    const connection = openConnection(url);
    connection.write(body === 'half' ? HALF() : WHOLE());
    await vi.waitUntil(() => taken);
    for (let step = 0; step < 30; step += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise(setImmediate);
    }
    connection.destroy();
    // Nothing was written to a response that the host has begun.
    if (what !== 'has a response that throws') expect(warnings).toEqual([]);
  },
);

test.each(['/api/user', '/other', '\\', 'http://['])(
  'leaves a response alone that the host has ended: %s',
  async (target) => {
    const url = await serve((request, response) => {
      response.end('the app');
      instep(request, response);
    });
    const connection = openConnection(url);
    connection.write(`GET ${target} HTTP/1.1\r\nHost: x y\r\nConnection: close\r\n\r\n`);
    expect(await connection.closed()).toMatch(/^HTTP\/1\.1 (200|400)/);
  },
);

test('warns when the logger of the app throws', async () => {
  const logger = createLogger('info', { write: () => undefined });
  const error = () => {
    throw new Error('the disk is full');
  };
  const broken = createNodeHandler({ environment: {}, logger: { ...logger, error } });
  const response = await fetch(`${await serve(broken)}/api/user`);
  expect(response.status).toBe(500);
  expect(warnings).toEqual([
    expect.objectContaining({ message: expect.stringContaining('the disk is full') }),
  ]);
});

test('refuses an event that did not come through a socket', async () => {
  const logger = createLogger('silent', { write: () => undefined });
  const broken = createNodeHandler({ environment: {}, logger });
  const url = await serve((request, response) => {
    Object.defineProperty(request, 'socket', { value: new EventEmitter() });
    broken(request, response);
  });
  const { status } = await fetch(`${url}/api/stripe/webhook`, { method: 'POST', body: '{}' });
  expect(status).toBe(503);
});

/** A body that ends as the host decides. */
function bodyThat(start: (controller: ReadableStreamDefaultController) => void) {
  return new ReadableStream({ start });
}

test.each([
  ['fails', () => bodyThat((controller) => controller.error(new Error('of the app')))],
  [
    'breaks off',
    () =>
      bodyThat((controller) => {
        controller.enqueue(new Uint8Array(1));
        controller.error();
      }),
  ],
])('survives a Fetch API request whose body %s', async (_, body) => {
  const handle = createHandler({ environment, maintenance: 'off' });
  const request = new Request('http://localhost/api/stripe/webhook', {
    method: 'POST',
    headers: { 'stripe-signature': signed() },
    body: body(),
    duplex: 'half',
  } as RequestInit);
  expect((await handle(request)).status).toBe(408);
});

test('survives a Fetch API request whose body the host is reading', async () => {
  const handle = createHandler({ environment, maintenance: 'off' });
  const request = new Request('http://localhost/api/stripe/webhook', {
    method: 'POST',
    headers: { 'stripe-signature': signed() },
    body: '{}',
  });
  const reader = request.body?.getReader();
  expect((await handle(request)).status).toBe(500);
  await reader?.cancel();
});
