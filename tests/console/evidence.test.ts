import { createHandler, createLogger } from 'instep';
import { beforeEach, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createReconcileJob, endPauses, startMaintenance } from '../support/internals/repair.ts';
import { addTeam, linkTeam } from '../support/internals/rows.ts';
import { SETTINGS, webhookRequest } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { recordComparison } from '../support/service/comparison.ts';
import { eventBody, receivedEvent } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest, services } = account;
const { query } = database;
const pages = await openConsole(database);
const logger = createLogger('silent');

const HOUR_MS = 3_600_000;

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.refusals, instep.asked_customers, instep.findings,
                        instep.products`);
  await query(`update instep.leased_jobs
                  set started_at = null, ended_at = null, progress = null, failure_code = null,
                      failing_since = null, failed_at = null, attempt_at = null`);
  account.fault = undefined;
});

async function overview() {
  const { html, text } = await pages.get('/');
  const issues = [...html.matchAll(/data-issue="([^"]*)"/g)].map(([, code]) => code);
  return { verdict: /data-verdict="([^"]*)"/.exec(html)?.[1], issues, html, text };
}

const verdictOf = async () => (await overview()).verdict;
const addAcme = () => addTeam(query, { name: 'Acme', customerId: 'cus_1' });
const deliverOne = () =>
  ingest([
    receivedEvent({ productId: 'prod_pro', createdSeconds: Math.floor(Date.now() / 1_000) }),
  ]);

/** Delivers events, signed with this secret, in a process of its own, which then ends. */
async function deliver(count: number, secret: string): Promise<void> {
  const environment = { ...SETTINGS, ...account.environment };
  const handler = createHandler({ environment, logger, maintenance: 'off' });
  for (let number = 0; number < count; number += 1) {
    const body = eventBody({ customerId: 'cus_1', eventId: `evt_${secret.length}_${number}` });
    await handler(webhookRequest(body, secret));
  }
  await handler.close();
}

test('before a comparison of all teams was completed, the overview is not green', async () => {
  await addAcme();
  await deliverOne();
  await recordComparison(query);
  expect(await verdictOf()).toBe('in-sync');
  const listing = `progress || '{"phase": "comparing", "completed": null}'`;
  for (const progress of ['null', listing]) {
    await query(`update instep.leased_jobs set progress = ${progress} where name = 'reconcile'`);
    const { verdict, html } = await overview();
    expect(verdict).toBe('unproven');
    expect(html).toContain('id="reconciled" href="/compare"');
  }
});

test('nor while teams can not be counted, without a team, and without a delivery', async () => {
  await addAcme();
  await deliverOne();
  await recordComparison(query);
  await database.transaction(async (holding) => {
    await holding('lock table instep.asked_customers in access exclusive mode');
    const { verdict, text } = await overview();
    expect(verdict).toBe('unproven');
    expect(text).toContain('too many teams');
  });
  await query('update teams set provider_customer_id = null');
  expect(await verdictOf()).toBe('unproven');
  await query(`update teams set provider_customer_id = 'cus_1'`);
  expect(await verdictOf()).toBe('in-sync');
  await query('update instep.events set deliveries = 0');
  expect(await verdictOf()).toBe('failure');
});

test('nor when the last comparison is older than its interval', async () => {
  await addAcme();
  await deliverOne();
  await recordComparison(query, Date.now() - 24 * HOUR_MS);
  expect(await verdictOf()).toBe('in-sync');
  await recordComparison(query, Date.now() - 25 * HOUR_MS);
  expect(await overview()).toMatchObject({ verdict: 'warning', issues: ['comparison-overdue'] });
});

test('60 deliveries that are refused for a wrong signature are an issue until one is stored, after a restart too', async () => {
  const otherSecret = `whsec_${'other'.repeat(5)}`;
  await addAcme();
  await deliver(1, WEBHOOK_SECRET);
  await recordComparison(query);
  expect(await verdictOf()).toBe('in-sync');
  await deliver(60, otherSecret);
  const { verdict, issues, text } = await overview();
  expect({ verdict, issues }).toEqual({ verdict: 'failure', issues: ['deliveries-refused'] });
  expect(text).toContain('60 deliveries refused');
  // The secret was corrected.
  await deliver(2, WEBHOOK_SECRET);
  expect(await verdictOf()).toBe('in-sync');
  await deliver(1, otherSecret);
  expect(await verdictOf()).toBe('warning');
});

test('20 teams that came after a comparison of no team were never compared', async () => {
  await account.compare(false);
  for (let number = 1; number <= 20; number += 1) {
    await addTeam(query, { name: `Team ${number}`, customerId: `cus_${number}` });
  }
  await deliverOne();
  expect(await overview()).toMatchObject({ verdict: 'warning', issues: ['teams-not-compared'] });
  await account.compare(false);
  expect((await overview()).issues).not.toContain('teams-not-compared');
});

test('a team is compared only when Stripe has answered about its customer', async () => {
  const askStripe = openAskingJob(services);
  await account.compare(false);
  const id = await addAcme();
  await deliverOne();
  account.fault = () => ({ status: 503, retryAfterSeconds: 0 });
  await expect(askStripe()).rejects.toThrow('503');
  const unanswered = await overview();
  expect(unanswered.issues).toEqual(['teams-not-compared']);
  expect(unanswered.text).toContain('0 of 1 team compared with Stripe');
  expect(unanswered.text).toContain('the last comparison had 0 teams');

  account.fault = undefined;
  account.customers.set({ id: 'cus_1' });
  // After a failure, Stripe is asked again some seconds later.
  await passTime(query, '1 minute');
  await askStripe();
  expect((await overview()).text).toContain('1 of 1 team compared with Stripe');

  // The customer may have changed while no team had it.
  await database.transaction((query) => linkTeam(query, id, null));
  await database.transaction((query) => linkTeam(query, id, 'cus_1'));
  expect((await overview()).text).toContain('0 of 1 team compared with Stripe');
});

test('a reconciliation that fails with 503 is no comparison, but an issue until it was completed', async () => {
  await addAcme();
  await deliverOne();
  account.fault = () => ({ status: 503 });
  const job = { name: 'reconcile', intervalMs: 20, run: createReconcileJob(services, 86_400_000) };
  const worker = startMaintenance(async () => [job], { logger });
  const failing = () => query('select from instep.leased_jobs where failure_code is not null');
  await expect.poll(failing, { timeout: 60_000 }).toHaveLength(1);
  await worker.stop();
  expect((await overview()).issues).not.toContain('job-failed');
  await query(`update instep.leased_jobs set failing_since = now() - interval '2 minutes'`);
  expect(await overview()).toMatchObject({
    ...{ verdict: 'warning', issues: ['job-failed', 'teams-not-compared'] },
  });
  account.fault = undefined;
  await endPauses(query);
  await job.run(new AbortController().signal);
  expect((await overview()).issues).not.toContain('job-failed');
});
