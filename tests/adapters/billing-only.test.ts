import { createHandler, type FetchHandler, type HandlerOptions, readConfig } from 'instep';
import { createNextHandlers } from 'instep/next';
import { createNodeHandler, type FastifyHost, fastifyInstep, type NodeHandler } from 'instep/node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { serve } from '../support/network/local-server.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { postSigned, SETTINGS, webhookRequest } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';

vi.mock('next/server.js', () => ({
  after: () => undefined,
  connection: async () => undefined,
}));

const url = await createEmptyDatabase();
const database = connect(url);
await database.query(`
  create table teams (
    id serial primary key, stripe_customer_id text, stripe_subscription_id text,
    stripe_product_id text, plan_name text, subscription_status text
  )`);
const { AUTH_SECRET: _, ...settings } = SETTINGS;
const environment = { ...settings, DATABASE_URL: url.href, LOG_LEVEL: 'silent' };

const user = new Request('http://localhost/api/user');

function closing<Closed extends { close(): Promise<void> }>(handler: Closed): Closed {
  onTestFinished(() => handler.close());
  return handler;
}

/** The three ways to say it. */
const WAYS: Record<string, () => HandlerOptions> = {
  'PROFILE=off': () => ({ environment: { ...environment, PROFILE: 'off' } }),
  'profile: false': () => ({ environment, profile: false }),
  'profile: false with a configuration': () => ({
    config: readConfig({ ...environment, AUTH_SECRET: 'a secret of at least 32 characters' }),
    profile: false,
  }),
};

test.each(Object.keys(WAYS))('a handler with %s answers webhooks only', async (way) => {
  const options = { ...WAYS[way]?.(), maintenance: 'off' } as const;
  const handler: FetchHandler = closing(createHandler(options));
  expect((await handler(user)).status).toBe(404);
  const posted = await handler(webhookRequest(eventBody()));
  expect({ status: posted.status, body: await posted.json() }).toEqual({
    status: 200,
    body: { received: true },
  });
  const next = closing(createNextHandlers(options));
  expect((await next.GET(user)).status).toBe(404);
  expect((await next.POST(webhookRequest(eventBody()))).status).toBe(200);
});

test("as middleware it leaves GET /api/user to the app's own route, whenever the variable is set", async () => {
  const variables: Record<string, string> = { ...environment };
  const instep = closing(createNodeHandler({ environment: variables, maintenance: 'off' }));
  // As an app that loads its .env after its modules.
  variables.PROFILE = 'off';
  const url = await serve((request, response) =>
    instep(request, response, () => response.end('the app')),
  );
  expect(await (await fetch(`${url}/api/user`)).text()).toBe('the app');
  expect(await (await postSigned(url, eventBody())).json()).toEqual({ received: true });
});

test('in Fastify the path is free for a route of the app', async () => {
  const paths: string[] = [];
  const handlers: NodeHandler[] = [];
  const host: FastifyHost = {
    decorate: (_, handler) => handlers.push(handler),
    all: (path) => paths.push(path),
    addHook: () => undefined,
  };
  await fastifyInstep(host, { environment, profile: false });
  expect(paths).toEqual(['/api/stripe/webhook']);
  await fastifyInstep(host, { environment });
  expect(paths.slice(1)).toEqual(['/api/user', '/api/stripe/webhook']);
  for (const handler of handlers) await handler.close();
});
