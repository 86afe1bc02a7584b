import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createHandler, createLogger, type PlanChange } from 'instep';
import { createCheckoutSession, signedRequest } from 'instep/testing';
import Stripe from 'stripe';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readTeam } from '../support/internals/rows.ts';
import { serve } from '../support/network/local-server.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { INSTEP } from '../support/repository.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** The pages whose code is run here. */
const PAGES = ['checkout', 'your-tables', 'changes']
  .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'))
  .join('\n');

const account = await openAccount();
const { database, environment } = account;

/** The folder in which the recipes find their packages. */
const folder = mkdtempSync(join(tmpdir(), 'instep-recipes-'));
mkdirSync(join(folder, 'node_modules'));
for (const name of ['stripe', 'pg']) {
  symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
}
symlinkSync(INSTEP, join(folder, 'node_modules/instep'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The code of a section. The database of the tests has the contract's column names. */
function codeOf(section: string, language: string): string {
  const [, text = ''] = PAGES.split(`\n## ${section}\n`);
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(text) ?? [];
  if (code === undefined) throw new RangeError(`${section} has no ${language}`);
  return code.replaceAll('stripe_customer_id', 'provider_customer_id');
}

async function load(section: string) {
  const file = join(folder, `${section.replaceAll(' ', '-')}.mjs`);
  writeFileSync(file, codeOf(section, 'js'));
  return await import(pathToFileURL(file).href);
}

test('a customer that is created before the checkout needs no redirect', async () => {
  const { startCheckout } = await load('Create the customer before the checkout');
  const requests: { path: string | undefined; key: unknown; body: string }[] = [];
  const url = await serve(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ path: request.url, key: request.headers['idempotency-key'], body });
    const id = request.url === '/v1/customers' ? 'cus_before' : 'cs_1';
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id }));
  });
  const { hostname: host, port } = new URL(url);
  const stripe = new Stripe(API_KEY, { host, port, protocol: 'http', maxNetworkRetries: 0 });
  const db = { query: database.query };
  const read = async (name: string) =>
    (await database.query<{ id: number }>('select * from teams where name = $1', [name]))[0];
  await database.query(`insert into teams (name) values ('Acme')`);
  const team = await read('Acme');

  await startCheckout(team, 'price_1', { stripe, db, baseUrl: 'https://app.example.com' });
  expect(requests).toMatchObject([
    { path: '/v1/customers', key: `customer-of-team-${team?.id}` },
    { path: '/v1/checkout/sessions', body: expect.stringContaining('customer=cus_before') },
  ]);
  await account.happen({ customerId: 'cus_before', productId: 'prod_pro' });
  expect(await readTeam(database.query, team?.id ?? 0)).toMatchObject({
    plan: { subscriptionStatus: 'active' },
  });

  await startCheckout(await read('Acme'), 'price_1', { stripe, db, baseUrl: 'https://a.example' });
  expect(requests.map(({ path }) => path)).toEqual([
    '/v1/customers',
    '/v1/checkout/sessions',
    '/v1/checkout/sessions',
  ]);
});

test('the first page after the checkout shows the plan', async () => {
  const settings = { ...SETTINGS, ...environment, LOG_LEVEL: 'silent' };
  for (const [name, value] of Object.entries(settings)) {
    vi.stubEnv(name, value);
  }
  const { instep, afterCheckout } = await load('Show the plan on the first page');
  onTestFinished(() => instep.close());
  const customerId = 'cus_returned';
  const teamId = await account.addTeam(customerId);
  account.checkoutSessions.set(createCheckoutSession({ customerId }));
  const createdSeconds = Math.floor(Date.now() / 1_000);
  const subscriptionId = 'sub_returned';
  const trial = { customerId, subscriptionId, createdSeconds, productId: 'prod_pro' };
  await account.happen({ ...trial, status: 'trialing' }, 'missed');
  const returned = async (sessionId: string) => {
    const request = new Request(`https://app.example.com/checkout?session_id=${sessionId}`);
    const response: Response = await afterCheckout(request, { id: teamId });
    return response.headers.get('location');
  };
  expect(await returned('cs_returned')).toBe('https://app.example.com/dashboard');
  expect(await readTeam(database.query, teamId)).toMatchObject({ plan: { planName: 'Pro' } });
  expect(await returned('cs_unknown')).toBe('https://app.example.com/pricing');
});

describe('an endpoint for other events', async () => {
  vi.stubEnv('STRIPE_SECRET_KEY', 'sk_test_example');
  vi.stubEnv('STRIPE_INVOICES_SECRET', 'whsec_example');
  const { POST } = await load('Receive other events');
  const url = 'https://app.example.com/api/stripe/invoices';
  const event = {
    ...{ id: 'evt_1', object: 'event', type: 'invoice.payment_failed' },
    data: { object: { customer: 'cus_1' } },
  };

  test('handles an event with its own secret', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const response: Response = await POST(new Request(url, signedRequest(event, 'whsec_example')));
    expect(response.status).toBe(200);
    expect(log.mock.calls).toEqual([['remind', 'cus_1']]);
    log.mockRestore();
  });

  test('refuses an event with another secret, or without a signature', async () => {
    const forged = new Request(url, signedRequest(event, 'whsec_other'));
    expect((await POST(forged)).status).toBe(400);
    expect((await POST(new Request(url, { method: 'POST', body: '{}' }))).status).toBe(400);
  });
});

test('a consumer is told of a plan that an event changes, and of no other event', async () => {
  const { watchPlans } = await load('React to a change');
  const handler = createHandler({
    environment: { ...SETTINGS, ...environment, OPS_PORT: 'off' },
    logger: createLogger('silent'),
    maintenance: 'off',
  });
  onTestFinished(() => handler.close());
  const { query } = database;
  const reported: unknown[][] = [];
  watchPlans(({ teamId, before, after }: PlanChange) => {
    reported.push([teamId, before, after?.planName]);
  }, handler);
  await vi.waitFor(
    async () => {
      expect(
        await query("select from instep.leased_jobs where name like 'plan changes%'"),
      ).toHaveLength(1);
    },
    { timeout: 20_000 },
  );
  const teamId = await account.addTeam('cus_watched');
  const otherId = await account.addTeam('cus_end');
  const pro = { customerId: 'cus_watched', productId: 'prod_pro' };
  await account.happen({ ...pro, createdSeconds: 1_000, status: 'active' });
  await account.happen({ ...pro, createdSeconds: 2_000, status: 'active' });
  await account.happen({ ...pro, customerId: 'cus_end', createdSeconds: 3_000, status: 'active' });
  const expected = [
    [teamId, null, 'Pro'],
    [otherId, null, 'Pro'],
  ];
  // A change that was made just before the call is passed on too.
  const ofTeams = () => reported.filter(([id]) => id === teamId || id === otherId);
  await vi.waitFor(() => expect(ofTeams()).toEqual(expected), { timeout: 20_000 });
});
