import { randomUUID } from 'node:crypto';
import { type ApplicationId, createLogger } from 'instep';
import { ApiCollection, type ApiFault, startFakeStripeApi } from 'instep/testing';
import { atEndOfFile } from '../end-of-file.ts';
import { makeAccessView } from '../internals/access.ts';
import { recognizeTables } from '../internals/database.ts';
import { reconcile } from '../internals/repair.ts';
import { addTeam, readTeam } from '../internals/rows.ts';
import { createStripeApi } from '../internals/stripe.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { runInstep } from '../process/instep-process.ts';
import { API_KEY } from '../secrets/test-secrets.ts';
import { openWholePipeline } from '../service/pipelines.ts';
import { eventBody, received } from './events.ts';

type EventFields = NonNullable<Parameters<typeof eventBody>[0]>;

/** A database and an account at Stripe that can drift apart, for the tests of a file. */
export async function openAccount(productNames: Readonly<Record<string, string>> = NAMES) {
  const { url, database } = await createDatabase();
  await makeAccessView(database, await recognizeTables(database.query, {}));
  const retrieveProductName = async (productId: string) => productNames[productId] ?? null;
  const { ingest, settle } = openWholePipeline(database, { api: { retrieveProductName } });
  const calls: string[] = [];
  const controls: {
    fault: ((path: string) => ApiFault | undefined) | undefined;
    delayMs: number | undefined;
  } = { fault: undefined, delayMs: undefined };
  const subscriptions = new ApiCollection();
  const customers = new ApiCollection();
  const checkoutSessions = new ApiCollection();
  const server = await startFakeStripeApi({
    productNames,
    subscriptions,
    customers,
    checkoutSessions,
    get delayMs() {
      return controls.delayMs ?? 0;
    },
    onCall(path) {
      calls.push(path);
      return controls.fault?.(path);
    },
  });
  const environment = {
    DATABASE_URL: url.href,
    STRIPE_SECRET_KEY: API_KEY,
    STRIPE_API_BASE: server.url,
  };
  const services: Parameters<typeof reconcile>[0] = {
    ...{ database, ingest, settle, now: Date.now, nonce: randomUUID },
    ...{ nameOf: retrieveProductName, logger: createLogger('silent') },
    planSelection: 'newest',
    api: createStripeApi({ secretKey: API_KEY, baseUrl: new URL(server.url) }),
    isDryRun: true,
    onIssue: () => undefined,
  };
  atEndOfFile(server.close);
  return Object.assign(controls, {
    ...{ database, ingest, settle, subscriptions, customers, checkoutSessions, environment },
    /** The paths of the requests to the API. */
    calls,
    /** What the jobs take that ask Stripe. */
    services,
    /** Removes everything from the database and the account. */
    async empty() {
      await database.query(`
        truncate teams, users, instep.events, instep.customers, instep.findings, instep.plan_changes,
                 instep.waiting_plan_changes, instep.asked_customers, instep.operator_actions cascade`);
      // The names are in the cache of the pipeline.
      await database.query('delete from instep.products where name is null');
      for (const collection of [subscriptions, customers, checkoutSessions]) {
        for (const { id } of collection.newestFirst()) collection.delete(id);
      }
      Object.assign(controls, { fault: undefined, delayMs: undefined });
      calls.length = 0;
    },
    /** A team that follows this customer. */
    addTeam: (customerId: string) => addTeam(database.query, { name: 'Team', customerId }),
    planOf: (teamId: ApplicationId) => readTeam(database.query, teamId),
    /** Changes a subscription at Stripe. Delivers the event unless it is missed. */
    async happen(fields: EventFields, how: 'delivered' | 'missed' = 'delivered') {
      const body = eventBody(fields);
      const { object } = JSON.parse(body).data;
      const before = subscriptions.get(object.id);
      subscriptions.set({ ...object, created: before?.created ?? object.created });
      customers.set({ id: object.customer });
      if (how === 'delivered') await ingest([received(body, Date.now())]);
    },
    /** Compares all teams with Stripe in this process; a dry run by default. */
    async compare(isDryRun = true) {
      await reconcile({ ...services, isDryRun }, new AbortController().signal);
    },
    /** The same by the command. */
    async reconcile(...args: string[]) {
      const { code, stdout, stderr } = await runInstep(['reconcile', ...args], environment);
      return { code, lines: stdout.split('\n').filter((line) => line !== ''), stderr };
    },
  });
}

const NAMES: Readonly<Record<string, string>> = { prod_pro: 'Pro', prod_base: 'Base' };
