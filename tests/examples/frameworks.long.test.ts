import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSubscriptionEvent,
  type FakeStripeApi,
  signedRequest,
  startFakeStripeApi,
} from 'instep/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAIN_SERVERS } from '../support/init/plain-servers.ts';
import { writeFiles } from '../support/init/starter-app.ts';
import { addTeam, addUser, readTeam } from '../support/internals/rows.ts';
import { startHttpProxy } from '../support/network/http-proxy.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { createDatabase, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { copyExamples, runNpm, startWithNpm } from '../support/process/example.ts';
import { runInstep, startInstep } from '../support/process/instep-process.ts';
import { takeLeaks } from '../support/secrets/leaks.ts';
import { AUTH_SECRET, PROFILE, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';

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
    const guide = readFileSync(join(examples, 'README.md'), 'utf8');
    expect(guide).toContain(`\`${name}\``);
    expect(guide).toContain('\n    npm start\n');
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

const ROUTES = ['/api/user', '/api/stripe/webhook'];

const CASES = PLAIN_SERVERS.flatMap((server) => [
  { ...server, way: 'inside' as const },
  { ...server, way: 'beside' as const },
]);

test.each(CASES)(
  '$file of $framework with Instep $way it, connected by init, survives that Instep stops, and the undo',
  async ({ framework, file, text, way }) => {
    const { database, url: databaseUrl } = await createDatabase();
    const user = await addUser(database.query, { ...PROFILE, role: 'member' });
    const customerId = 'cus_acme';
    const teamId = await addTeam(database.query, { name: 'Acme', customerId });
    const connection = await startProxy(databaseUrl);
    const folder = join(examples, 'plain', framework, file, way);
    const manifest = {
      ...{ private: true, type: 'module', scripts: { start: `node --env-file=.env ${file}` } },
      dependencies: { [framework]: '*', instep: '*' },
    };
    writeFiles(folder, {
      '.env': `DATABASE_URL=${connection.url.href}\n`,
      'package.json': JSON.stringify(manifest),
      [file]: text,
      'session.js': "export const algorithm = 'HS256';\n",
    });
    const settings = {
      STRIPE_API_BASE: stripe.url,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      AUTH_SECRET,
    };
    const init = (...args: string[]) => runInstep(['init', ...args, '--yes'], settings, folder);
    expect(await init(`--${way}`)).toMatchObject({ code: 0 });
    const isUnchanged = readFileSync(join(folder, file), 'utf8') === text;
    expect(isUnchanged).toBe(way === 'beside');
    expect((await init(`--${way}`)).stdout).toContain('No file of the app has to be changed.');

    const app = await startWithNpm(folder, 'start', settings);
    const instep = way === 'beside' ? await startInstep(settings, { folder }) : null;
    const proxy =
      instep && (await startHttpProxy((path) => (ROUTES.includes(path) ? instep.url : app.url)));
    const { url } = proxy ?? app;
    const cookie = await sessionCookie(user.id);
    const readProfile = () => fetch(`${url}/api/user`, { headers: { cookie } });
    const usesApp = async (origin: string) => {
      expect(await (await fetch(origin)).text()).toBe('the app');
      const headers = { 'content-type': 'application/json' };
      const echo = await fetch(`${origin}/echo`, { method: 'POST', headers, body: '{"a":1}' });
      expect(await echo.json()).toEqual({ a: 1 });
    };

    await usesApp(url);
    expect(await (await readProfile()).json()).toMatchObject({ id: user.id });
    const event = createSubscriptionEvent({ customerId, productId: 'prod_example' });
    const posted = () => fetch(`${url}/api/stripe/webhook`, signedRequest(event, WEBHOOK_SECRET));
    const response = await posted();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ received: true });
    expect((await readTeam(database.query, teamId))?.plan.planName).toBe('Pro');

    if (instep === null) await connection.become('refuse');
    else await instep.stop();
    const stopped = way === 'inside' ? 503 : 502;
    expect((await readProfile()).status).toBe(stopped);
    expect((await posted()).status).toBe(stopped);
    await usesApp(url);
    if (way === 'inside') {
      await connection.become('forward');
      await expect.poll(async () => (await readProfile()).status).toBe(200);
    }
    await proxy?.close();
    await app.stop();

    await connection.become('forward');
    expect(await init('--undo')).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, file), 'utf8')).toBe(text);
    const restored = await startWithNpm(folder, 'start', settings);
    await usesApp(restored.url);
    expect((await fetch(`${restored.url}/api/user`)).status).toBe(404);
    await restored.stop();
    await connection.close();
  },
);
