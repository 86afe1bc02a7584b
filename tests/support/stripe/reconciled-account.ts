import { randomUUID } from 'node:crypto';
import { type ApplicationId, createLogger } from 'instep';
import { ApiCollection, type ApiFault, startFakeStripeApi } from 'instep/testing';
import { atEndOfFile } from '../end-of-file.ts';
import { makeAccessView } from '../internals/access.ts';
import { type Database, recognizeTables } from '../internals/database.ts';
import type { Ingest, Settle } from '../internals/ingest.ts';
import { reconcile } from '../internals/repair.ts';
import { addTeam, readTeam } from '../internals/rows.ts';
import { createStripeApi } from '../internals/stripe.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { runInstep } from '../process/instep-process.ts';
import { API_KEY } from '../secrets/test-secrets.ts';
import { openWholePipeline } from '../service/pipelines.ts';
import { eventBody, received } from './events.ts';

type EventFields = NonNullable<Parameters<typeof eventBody>[0]>;

type ReconciledAccount = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly settle: Settle;
  readonly subscriptions: ApiCollection;
  readonly customers: ApiCollection;
  readonly checkoutSessions: ApiCollection;
  /** The paths of the requests to the API. */
  readonly calls: string[];
  fault: ((path: string) => ApiFault | undefined) | undefined;
  delayMs: number | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** A team that follows this customer. */
  addTeam(customerId: string): Promise<ApplicationId>;
  planOf(teamId: ApplicationId): ReturnType<typeof readTeam>;
  /** Changes a subscription at Stripe. Delivers the event unless it is missed. */
  happen(fields: EventFields, how?: 'delivered' | 'missed'): Promise<void>;
  /** What the jobs take that ask Stripe. */
  readonly services: Parameters<typeof reconcile>[0];
  /** Compares all teams with Stripe in this process; a dry run by default. */
  compare(isDryRun?: boolean): Promise<void>;
  /** The same by the command. */
  reconcile(...args: string[]): Promise<{ code: number | string; lines: string[]; stderr: string }>;
};

/** A database and an account at Stripe that can drift apart, for the tests of a file. */
export async function openAccount(): Promise<ReconciledAccount> {
  const { url, database } = await createDatabase();
  await makeAccessView(database, await recognizeTables(database.query, {}));
  const retrieveProductName = async (productId: string) => NAMES[productId] ?? null;
  const { ingest, settle } = openWholePipeline(database, { api: { retrieveProductName } });
  const calls: string[] = [];
  const subscriptions = new ApiCollection();
  const customers = new ApiCollection();
  const checkoutSessions = new ApiCollection();
  const server = await startFakeStripeApi({
    productNames: NAMES,
    subscriptions,
    customers,
    checkoutSessions,
    get delayMs() {
      return account.delayMs ?? 0;
    },
    onCall(path) {
      calls.push(path);
      return account.fault?.(path);
    },
  });
  const environment = {
    DATABASE_URL: url.href,
    STRIPE_SECRET_KEY: API_KEY,
    STRIPE_API_BASE: server.url,
  };
  const services: ReconciledAccount['services'] = {
    ...{ database, ingest, settle, now: Date.now, nonce: randomUUID },
    ...{ nameOf: retrieveProductName, logger: createLogger('silent') },
    planSelection: 'newest',
    api: createStripeApi({ secretKey: API_KEY, baseUrl: new URL(server.url) }),
    isDryRun: true,
    onIssue: () => undefined,
  };
  const account: ReconciledAccount = {
    database,
    ingest,
    settle,
    subscriptions,
    customers,
    checkoutSessions,
    calls,
    fault: undefined,
    delayMs: undefined,
    environment,
    addTeam: (customerId) => addTeam(database.query, { name: 'Team', customerId }),
    planOf: (teamId) => readTeam(database.query, teamId),
    async happen(fields, how = 'delivered') {
      const body = eventBody(fields);
      const { object } = JSON.parse(body).data;
      const before = subscriptions.get(object.id);
      subscriptions.set({ ...object, created: before?.created ?? object.created });
      customers.set({ id: object.customer });
      if (how === 'delivered') await ingest([received(body, Date.now())]);
    },
    services,
    async compare(isDryRun = true) {
      await reconcile({ ...services, isDryRun }, new AbortController().signal);
    },
    async reconcile(...args) {
      const { code, stdout, stderr } = await runInstep(['reconcile', ...args], environment);
      return { code, lines: stdout.split('\n').filter((line) => line !== ''), stderr };
    },
  };
  atEndOfFile(server.close);
  return account;
}

const NAMES: Readonly<Record<string, string>> = { prod_pro: 'Pro', prod_base: 'Base' };
