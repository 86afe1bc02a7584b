import { once } from 'node:events';
import * as instep from 'instep/next';
import { createNextHandlers } from 'instep/next';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS, webhookRequest } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';

// The tests of examples/ use the real Next.js.
const next = vi.hoisted(() => ({
  tasks: [] as (() => Promise<void>)[],
  connected: 0,
  isOutsideOfRequest: false,
}));
vi.mock('next/server.js', () => ({
  after(task: () => Promise<void>) {
    if (next.isOutsideOfRequest) throw new Error('`after` was called outside a request scope');
    next.tasks.push(task);
  },
  connection: async () => {
    next.connected += 1;
  },
}));

const CRON_SECRET = 'a secret of the scheduler';

const { url, database } = await createDatabase();
const settings = { ...SETTINGS, DATABASE_URL: url.href, LOG_LEVEL: 'silent' };
const environment: Record<string, string> = { ...settings, CRON_SECRET };
const handlers = createNextHandlers({ environment });
afterAll(() => handlers.close());
beforeEach(() => {
  next.tasks.length = 0;
  next.connected = 0;
});

/** The path does not matter, as it is that of the route file. */
const post = (body: string, secret?: string) =>
  handlers.POST(webhookRequest(body, secret, 'http://localhost/billing'));

const runCron = (authorization: string) =>
  handlers.cron(new Request('http://localhost/cron', { headers: { authorization } }));

test('GET waits for a request, so that a build queries no database', async () => {
  const response = await handlers.GET(new Request('http://localhost/me'));
  expect(await response.json()).toBeNull();
  expect(next.connected).toBe(1);
});

test('POST runs maintenance after the response', async () => {
  const customerId = 'cus_after';
  const response = await post(eventBody({ customerId }));
  expect(await response.json()).toEqual({ received: true });
  const teamId = await addTeam(database.query, { name: 'Late', customerId });
  expect(next.tasks).toHaveLength(1);
  await next.tasks[0]?.();
  expect((await readTeam(database.query, teamId))?.plan.subscriptionStatus).toBe('active');
});

test('POST answers 200 for a stored event whose maintenance can not be scheduled', async () => {
  const warned = once(process, 'warning');
  next.isOutsideOfRequest = true;
  onTestFinished(() => {
    next.isOutsideOfRequest = false;
  });
  expect((await post(eventBody({ customerId: 'cus_unscheduled' }))).status).toBe(200);
  expect(String(await warned)).toContain('outside a request scope');
});

test('a forged webhook runs no maintenance', async () => {
  expect((await post(eventBody(), 'whsec_forged')).status).toBe(400);
  expect(next.tasks).toEqual([]);
});

test.each(['methods', 'exports'])(
  'the %s answer whether a team has access, complete a checkout and sync a customer',
  async (which) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { access, completeCheckout, syncCustomer } = which === 'methods' ? handlers : instep;
    const teamId = await addTeam(database.query, { name: which, customerId: null });
    expect(await access(teamId)).toMatchObject({ teamId, hasAccess: false, reason: 'none' });
    const checkout = completeCheckout('no session', { teamId });
    await expect(checkout).rejects.toMatchObject({ code: 'CHECKOUT_NOT_COMPLETE' });
    await expect(syncCustomer('cus_x')).rejects.toMatchObject({ code: 'CUSTOMER_WITHOUT_TEAM' });
  },
);

test('cron runs maintenance for the scheduler only', async () => {
  expect((await runCron('Bearer wrong')).status).toBe(401);
  expect((await runCron(`Bearer ${CRON_SECRET}`)).status).toBe(200);
});

test('cron says that its secret is missing', async () => {
  environment.CRON_SECRET = '';
  const response = await runCron('Bearer ');
  environment.CRON_SECRET = CRON_SECRET;
  expect(response.status).toBe(500);
  expect(await response.text()).toContain('CRON_SECRET is missing');
});
