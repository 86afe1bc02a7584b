import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeStripeApi, startFakeStripeApi } from 'instep/src/testing/fake-stripe-api.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEmptyDatabase } from '../support/postgres/test-database.ts';
import { copyExamples, runNpm, startWithNpm } from '../support/process/example.ts';
import { takeLeaks } from '../support/secrets/leaks.ts';

const INSTALL_TIMEOUT_MS = 240_000;

let examples: string;
let stripe: FakeStripeApi;
beforeAll(async () => {
  examples = copyExamples('');
  stripe = await startFakeStripeApi({ productNames: { prod_example: 'Pro' } });
  await runNpm(examples, ['ci', '--prefer-offline']);
}, INSTALL_TIMEOUT_MS);
afterAll(() => stripe?.close());

/** The examples that also mount the console. */
const CONSOLES = ['express', 'hono'];

test.each(['express', 'fastify', 'hono', 'node-http'])(
  'in the example %s an event gives the signed-in team its plan',
  async (name) => {
    const folder = join(examples, name);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('\n    npm start\n');
    const settings = {
      DATABASE_URL: (await createEmptyDatabase()).href,
      STRIPE_API_BASE: stripe.url,
    };
    const { url, stop } = await startWithNpm(folder, 'start', settings);
    const answers = async (path: string, headers: Record<string, string>) =>
      await (await fetch(`${url}${path}`, { headers })).text();
    expect(await answers('/', {})).toContain('Sign in');
    expect(await answers('/api/user', {})).toBe('null');

    const body = new URLSearchParams({ email: 'ada@example.com' });
    const form = { method: 'POST', body, redirect: 'manual' } as const;
    const signedIn = await fetch(`${url}/sign-in`, form);
    expect(signedIn.status).toBe(303);
    expect(takeLeaks()).toEqual([expect.stringContaining('"set-cookie"')]);
    const [cookie = ''] = signedIn.headers.get('set-cookie')?.split(';') ?? [];
    expect(JSON.parse(await answers('/api/user', { cookie }))).toMatchObject({ name: 'Ada' });
    expect(await answers('/', { cookie })).toContain('<h1>Acme</h1><p>Plan: none (-)</p>');

    const forged = await fetch(`${url}/api/stripe/webhook`, { method: 'POST', body: '{}' });
    expect(forged.status).toBe(400);
    const port = new URL(url).port;
    const posted = await runNpm(folder, ['run', 'event'], { ...settings, PORT: port });
    expect(posted).toContain('{"received":true}');
    expect(await answers('/', { cookie })).toContain('<h1>Acme</h1><p>Plan: Pro (active)</p>');
    await expect
      .poll(() => answers('/', { cookie }))
      .toMatch(/Your plan is now: Pro(?!.*Your plan)/s);
    if (CONSOLES.includes(name)) {
      expect((await fetch(`${url}/admin/billing`)).status).toBe(401);
      const teams = await answers('/admin/billing/teams', { cookie });
      expect(teams).toContain('Acme');
      expect(teams).toContain('href="/admin/billing/events"');
    }
    await stop();
  },
);
