import { randomUUID } from 'node:crypto';
import { createHandler, createLogger } from 'instep';
import { signWebhook } from 'instep/testing';
import { beforeEach, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import {
  createReconcileJob,
  FailedJobs,
  reconcile,
  startMaintenance,
} from '../support/internals/repair.ts';
import { addTeam, setCustomer } from '../support/internals/rows.ts';
import { createStripeApi } from '../support/internals/stripe.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { API_KEY, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { recordComparison } from '../support/service/comparison.ts';
import { eventBody } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest, settle } = account;
const { query } = database;
const pages = await openConsole(database);
const logger = createLogger('silent');

const services = {
  ...{
    database,
    ingest,
    settle,
    planSelection: 'newest' as const,
    now: Date.now,
    nonce: randomUUID,
  },
  api: createStripeApi({
    secretKey: API_KEY,
    baseUrl: new URL(account.environment.STRIPE_API_BASE ?? ''),
  }),
  nameOf: async () => 'Pro',
  logger,
};

const askStripe = openAskingJob({
  ...services,
  api: { ...services.api, retrieveProductName: async () => 'Pro' },
});

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.refusals, instep.questions, instep.findings`);
  await query(`update instep.leased_jobs
                  set started_at = null, ended_at = null, progress = null, failure_code = null,
                      failing_since = null, failed_at = null, attempt_at = null`);
  account.fault = undefined;
});

async function overview() {
  const { html, text } = await pages.get('/');
  const issues = [...html.matchAll(/data-issue="([^"]*)"/g)].map(([, code]) => code);
  return { verdict: /data-verdict="([^"]*)"/.exec(html)?.[1], issues, text };
}

/** Delivers events in a process of its own, which then ends; without a secret, they have no signature. */
async function deliver(count: number, secret: string | null): Promise<void> {
  const environment = { ...SETTINGS, ...account.environment };
  const handler = createHandler({ environment, logger, maintenance: 'off' });
  for (let number = 0; number < count; number += 1) {
    const body = eventBody({ customerId: 'cus_1', eventId: `evt_${secret?.length}_${number}` });
    const headers: Record<string, string> =
      secret === null ? {} : { 'stripe-signature': signWebhook(body, secret, Date.now()) };
    const url = 'http://localhost/api/stripe/webhook';
    await handler(new Request(url, { method: 'POST', body, headers }));
  }
  await handler.close();
}

const OTHER_SECRET = `whsec_${'other'.repeat(5)}`;

test('60 deliveries that are refused for a wrong signature are an issue until one is stored, after a restart too', async () => {
  await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
  await deliver(1, WEBHOOK_SECRET);
  await recordComparison(query);
  expect((await overview()).verdict).toBe('in-sync');
  await deliver(60, OTHER_SECRET);
  const { verdict, issues, text } = await overview();
  expect({ verdict, issues }).toEqual({ verdict: 'failure', issues: ['deliveries-refused'] });
  expect(text).toContain('60 deliveries refused');
  expect(text).toContain('Set STRIPE_WEBHOOK_SECRET');
  // The secret was corrected.
  await deliver(2, WEBHOOK_SECRET);
  expect((await overview()).verdict).toBe('in-sync');
  await deliver(1, OTHER_SECRET);
  expect((await overview()).verdict).toBe('warning');
});

test('20 teams that came after a comparison of no team were never compared', async () => {
  const options = { isDryRun: false, onIssue: () => undefined };
  await reconcile({ ...services, ...options }, new AbortController().signal);
  for (let number = 1; number <= 20; number += 1) {
    await addTeam(query, { name: `Team ${number}`, customerId: `cus_${number}` });
  }
  await deliver(1, WEBHOOK_SECRET);
  const before = await overview();
  expect(before.verdict).toBe('warning');
  expect(before.issues).toEqual(['teams-not-compared']);

  await reconcile({ ...services, ...options }, new AbortController().signal);
  expect((await overview()).issues).not.toContain('teams-not-compared');
});

test('a team is compared only when Stripe has answered about its customer', async () => {
  const { signal } = new AbortController();
  await reconcile({ ...services, isDryRun: false, onIssue: () => undefined }, signal);
  const id = await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
  await deliver(1, WEBHOOK_SECRET);
  account.fault = () => ({ status: 503, retryAfterSeconds: 0 });
  await askStripe();
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
  await database.transaction((query) => setCustomer(query, id, null));
  await database.transaction((query) => setCustomer(query, id, 'cus_1'));
  expect((await overview()).text).toContain('0 of 1 team compared with Stripe');
});

test('a reconciliation that failed with 503 is no comparison, but an issue', async () => {
  await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
  await deliver(1, WEBHOOK_SECRET);
  account.fault = () => ({ status: 503 });
  const job = { name: 'reconcile', intervalMs: 20, run: createReconcileJob(services, 86_400_000) };
  const failedJobs = new FailedJobs(query, logger);
  const worker = startMaintenance(async () => [job], { logger, failedJobs });
  await expect
    .poll(() => query('select from instep.leased_jobs where failure_code is not null'), {
      timeout: 60_000,
    })
    .toHaveLength(1);
  await worker.stop();
  await query(`update instep.leased_jobs set failing_since = now() - interval '2 minutes'`);
  const { verdict, issues } = await overview();
  expect(verdict).toBe('warning');
  expect(issues).toEqual(['job-failed', 'teams-not-compared']);
});
