import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createSubscriptionEvent, signedRequest } from 'instep/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import { STARTER_FILES, WITHOUT_INSTEP, writeFiles } from '../support/init/starter-app.ts';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { createEmptyDatabase } from '../support/postgres/test-database.ts';
import { copyExamples, runNpm, startWithNpm } from '../support/process/example.ts';
import { freePort } from '../support/process/free-port.ts';
import { type InstepProcess, runInstep, startInstep } from '../support/process/instep-process.ts';
import { API_KEY, AUTH_SECRET, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { type CheckoutApi, startCheckoutApi } from '../support/stripe/checkout-api.ts';

const INSTALL_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 240_000;

const browser = useBrowser();

/** Signs a new user in. */
async function signIn(url: string, email: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill('password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  return page;
}

describe('the example, in which Instep is mounted,', () => {
  let stripe: CheckoutApi;
  let database: TcpProxy;
  let url: string;
  let stop: () => Promise<unknown>;

  beforeAll(async () => {
    const folder = copyExamples('nextjs-saas-starter');
    await runNpm(folder, ['ci', '--prefer-offline']);
    stripe = await startCheckoutApi();
    database = await startProxy(await createEmptyDatabase());
    const { href } = database.url;
    const databases = { DATABASE_URL: href, POSTGRES_URL: href };
    await runNpm(folder, ['run', 'build']);
    const settings = { ...databases, STRIPE_API_BASE: stripe.url, RECONCILE_INTERVAL: '1d' };
    ({ url, stop } = await startWithNpm(folder, 'start', settings));
  }, INSTALL_TIMEOUT_MS + START_TIMEOUT_MS);
  afterAll(async () => {
    await stop?.();
    await stripe?.close();
    await database?.close();
  });

  test('the dashboard shows the plan of a signed event', async () => {
    const page = await signIn(url, 'ada@example.com');
    await expectText(page).toContain('Plan: none (-)');
    await expectText(page.getByRole('banner')).toContain('Signed in as Ada');
    expect((await fetch(`${url}/admin/billing`)).status).toBe(401);
    const console = await page.context().newPage();
    await console.goto(`${url}/admin/billing`);
    await console.getByLabel('Areas').getByRole('link', { name: 'Teams' }).click();
    await expectText(console).toContain('Acme');
    expect(console.url()).toBe(`${url}/admin/billing/teams`);
    await console.close();
    const another = await signIn(url, 'grace@example.com');
    await expectText(another.getByRole('banner')).toContain('Signed in as Grace');
    expect((await another.goto(`${url}/admin/billing`))?.status()).toBe(401);

    const event = createSubscriptionEvent({ customerId: 'cus_acme', productId: 'prod_pro' });
    stripe.subscriptions.set(event.data.object);
    const request = signedRequest(event, WEBHOOK_SECRET);
    const response = await fetch(`${url}/api/stripe/webhook`, request);
    expect(await response.json()).toEqual({ received: true });
    await page.reload();
    await expectText(page).toContain('Plan: Pro (active)');
  });

  test('a banner says that the payment failed and when the plan ends, and a page needs access', async () => {
    const page = await signIn(url, 'ada@example.com');
    async function change(status: string, members: object = {}): Promise<void> {
      const event = createSubscriptionEvent({
        customerId: 'cus_acme',
        productId: 'prod_pro',
        status,
      });
      Object.assign(event.data.object, members);
      event.created += changes;
      changes += 1;
      stripe.subscriptions.set(event.data.object);
      await fetch(`${url}/api/stripe/webhook`, signedRequest(event, WEBHOOK_SECRET));
    }
    let changes = 1;
    await expectText(page).toContain('Plan: Pro');
    await page.goto(`${url}/reports`);
    await expectText(page).toContain('Reports of Acme');
    await change('past_due');
    await page.goto(`${url}/dashboard`);
    await expectText(page.getByRole('status')).toContain('Your payment failed');
    await change('active', { cancel_at: Date.UTC(2100, 2, 1) / 1_000 });
    await page.reload();
    await expectText(page.getByRole('status')).toContain('Your plan ends on 1 March.');
    await change('unpaid');
    await page.goto(`${url}/reports`);
    await page.waitForURL('**/pricing');
    await change('active');
    await page.goto(`${url}/reports`);
    await expectText(page).toContain('Reports of Acme');
  });
});

/** An app like the starter. Only its `.env` says where its database is. */
let folder: string;
beforeAll(async () => {
  folder = copyExamples('nextjs-saas-starter');
  writeFiles(folder, { ...WITHOUT_INSTEP, ...STARTER_FILES });
  await runNpm(folder, ['ci', '--prefer-offline']);
}, INSTALL_TIMEOUT_MS);

/** Bundles Instep with the webpack of Next.js, and prints the errors and warnings. */
const WEBPACK = `
  const { webpack } = require('next/dist/compiled/webpack/bundle5')();
  const isExternal = ({ request }) => /^(?:next|pg)\\b/.test(request);
  const compiler = webpack({
    mode: 'development',
    target: 'node',
    context: process.cwd(),
    entry: ['instep', 'instep/next'],
    externals: (data, done) => done(null, isExternal(data) ? 'commonjs ' + data.request : undefined),
    output: { path: process.cwd() + '/.next/webpack' },
  });
  compiler.run((error, stats) => {
    if (error) throw error;
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    console.log(JSON.stringify([...errors, ...warnings].map(({ message }) => message)));
  });`;

test('webpack, the bundler of Next.js 15, bundles Instep without a warning', async () => {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--eval', WEBPACK], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual([]);
});

describe.each(['inside', 'beside'])('after `instep init --%s`, a build', (way) => {
  let stripe: CheckoutApi;
  let database: TcpProxy;
  let instep: InstepProcess | null = null;
  let stopApp: () => Promise<unknown>;
  let url: string;
  let appOutput: () => string;

  beforeAll(async () => {
    stripe = await startCheckoutApi();
    // The example creates its tables at every start, as a role that is named like our schema.
    database = await startProxy(await createEmptyDatabase());
    const variables = {
      ...{ POSTGRES_URL: database.url.href, AUTH_SECRET },
      ...{ STRIPE_SECRET_KEY: API_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET },
      STRIPE_API_BASE: stripe.url,
    };
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    writeFiles(folder, { '.env': lines.join('') });
    await runNpm(folder, ['run', 'setup']);
    const connected = await runInstep(['init', `--${way}`, '--yes'], {}, folder);
    expect(connected).toMatchObject({ code: 0 });
    const PORT = `${await freePort()}`;
    const settings = { STRIPE_API_BASE: stripe.url, INSTEP_URL: `http://127.0.0.1:${PORT}` };
    if (way === 'beside')
      instep = await startInstep({ PORT, STRIPE_API_BASE: stripe.url }, { folder });
    expect(await runNpm(folder, ['run', 'build'], settings)).not.toMatch(/warning/i);
    const app = await startWithNpm(folder, 'start', settings);
    url = app.url;
    stopApp = app.stop;
    appOutput = app.output;
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await stopApp?.();
    await instep?.stop();
    await stripe?.close();
    await database?.close();
  });

  test('shows the plan on the first page after the checkout, for which it waits until Stripe answers', async () => {
    const page = await signIn(url, 'grace@example.com');
    await expectText(page.getByRole('banner')).toContain('Signed in as Grace');
    await page.getByRole('link', { name: 'Pricing' }).click();
    stripe.isDown = true;
    await page.getByRole('button', { name: 'Start the 14-day trial of Pro' }).click();
    await expectText(page.locator('body')).toContain('We are waiting for Stripe.');
    expect(appOutput()).toContain('[STRIPE_UNAVAILABLE]');
    stripe.isDown = false;
    await page.waitForURL('**/dashboard');
    expect(await page.locator('main').innerText()).toContain('Plan: Pro (trialing)');
    await page.goto(`${url}/api/stripe/checkout?session_id=cs_unknown`);
    expect(page.url()).toBe(`${url}/pricing`);
  });

  test('applies signed events, and survives that Instep is stopped', async () => {
    const event = createSubscriptionEvent({ customerId: 'cus_acme', productId: 'prod_pro' });
    stripe.subscriptions.set(event.data.object);
    const response = await fetch(`${url}/api/stripe/webhook`, signedRequest(event, WEBHOOK_SECRET));
    expect(await response.json()).toEqual({ received: true });
    const page = await signIn(url, 'ada@example.com');
    await expectText(page).toContain('Plan: Pro (active)');
    await expectText(page.getByRole('banner')).toContain('Signed in as Ada');
    if (instep === null) return;
    await instep.stop();
    const refused = page.waitForResponse(`${url}/api/user`);
    await page.reload();
    expect((await refused).status()).toBe(500);
    await expectText(page).toContain('Plan: Pro (active)');
    await expectText(page.getByRole('banner')).toContain('Not signed in');
    const problem = expect.stringContaining(`500 ${url}/api/user`);
    expect(browser.takeProblems()).toEqual([problem]);
  });

  test('can be undone', async () => {
    const undone = await runInstep(['init', '--undo', '--yes'], {}, folder);
    expect(undone).toMatchObject({ code: 0 });
    for (const [path, text] of Object.entries(STARTER_FILES)) {
      expect(readFileSync(join(folder, path), 'utf8')).toBe(text);
    }
  });
});
