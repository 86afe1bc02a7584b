import { createSubscriptionEvent, signedRequest } from 'instep/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { createEmptyDatabase } from '../support/postgres/test-database.ts';
import { copyExamples, runNpm, startWithNpm } from '../support/process/example.ts';
import { freePort } from '../support/process/free-port.ts';
import { startInstep } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { type CheckoutApi, startCheckoutApi } from '../support/stripe/checkout-api.ts';

const INSTALL_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 240_000;

const browser = useBrowser();

let folder: string;
beforeAll(async () => {
  folder = copyExamples('nextjs-saas-starter');
  await runNpm(folder, ['ci', '--prefer-offline']);
}, INSTALL_TIMEOUT_MS);

describe.each(['mounted in', 'beside'])('Instep %s the app', (way) => {
  let stripe: CheckoutApi;
  let database: TcpProxy;
  let settings: Record<string, string>;
  let url: string;
  const stops: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    stripe = await startCheckoutApi();
    database = await startProxy(await createEmptyDatabase());
    const { href } = database.url;
    settings = {
      DATABASE_URL: href,
      POSTGRES_URL: href,
      STRIPE_API_BASE: stripe.url,
      RECONCILE_INTERVAL: '1d',
    };
    if (way === 'beside') {
      const PORT = `${await freePort()}`;
      const INSTEP_URL = `http://127.0.0.1:${PORT}`;
      const app = await startWithNpm(folder, 'dev', { ...settings, INSTEP_URL });
      stops.push(app.stop);
      const instep = await startInstep({ ...settings, PORT });
      stops.push(() => instep.stop());
      url = app.url;
    } else {
      await runNpm(folder, ['run', 'build']);
      const app = await startWithNpm(folder, 'start', settings);
      stops.push(app.stop);
      url = app.url;
    }
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    for (const stop of stops) await stop();
    await database?.close();
    await stripe?.close();
  });

  async function signIn(email: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill('password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    return page;
  }

  test('the dashboard shows the plan of a signed event', async () => {
    const page = await signIn('ada@example.com');
    await expectText(page).toContain('Plan: none (-)');
    await expectText(page.getByRole('banner')).toContain('Signed in as Ada');
    if (way === 'mounted in') {
      expect((await fetch(`${url}/admin/billing`)).status).toBe(401);
      const console = await page.context().newPage();
      await console.goto(`${url}/admin/billing`);
      await console.getByLabel('Areas').getByRole('link', { name: 'Teams' }).click();
      await expectText(console).toContain('Acme');
      expect(console.url()).toBe(`${url}/admin/billing/teams`);
      await console.close();
      const another = await signIn('grace@example.com');
      await expectText(another.getByRole('banner')).toContain('Signed in as Grace');
      expect((await another.goto(`${url}/admin/billing`))?.status()).toBe(401);
    }

    const event = createSubscriptionEvent({ customerId: 'cus_acme', productId: 'prod_pro' });
    stripe.subscriptions.set(event.data.object);
    const request = signedRequest(event, WEBHOOK_SECRET);
    const response = await fetch(`${url}/api/stripe/webhook`, request);
    expect(await response.json()).toEqual({ received: true });
    await page.reload();
    await expectText(page).toContain('Plan: Pro (active)');
  });

  test('a banner says that the payment failed and when the plan ends, and a page needs access', async () => {
    const page = await signIn('ada@example.com');
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
