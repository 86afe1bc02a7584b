import {
  ApiCollection,
  type ApiFault,
  createSubscriptionEvent,
  startFakeStripeApi,
} from 'instep/testing';
import { onTestFinished } from 'vitest';
import {
  connect,
  createEmptyDatabase,
  type TestServer,
} from '../support/postgres/test-database.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { type Schema, schemaSql } from '../support/schemas/schemas.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';

type Subscribed = Omit<Parameters<typeof createSubscriptionEvent>[0], 'customerId'>;

/** The difference of a row, as `--json` has it. */
export type Row = Readonly<Record<'code' | 'customer', string>> &
  Readonly<Record<string, string | null>>;

/** The database of an app with these tables, and its account at Stripe, until the end of the test. */
export async function openApp(schema: Schema | 'no tables', server?: TestServer) {
  const url = await createEmptyDatabase(server);
  const database = connect(url);
  onTestFinished(() => database.close());
  if (schema !== 'no tables') await database.query(schemaSql(schema));
  const subscriptions = new ApiCollection();
  const customers = new ApiCollection();
  const calls: string[] = [];
  const stripe = await startFakeStripeApi({
    ...{ subscriptions, customers },
    productNames: { prod_pro: 'Pro plan', prod_team: 'Team plan' },
    onCall(path) {
      calls.push(path);
      return app.fault(path);
    },
  });
  onTestFinished(() => stripe.close());
  const environment: Readonly<Record<string, string>> = {
    DATABASE_URL: url.href,
    STRIPE_SECRET_KEY: API_KEY,
    STRIPE_API_BASE: stripe.url,
  };
  const audit = (args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) =>
    runInstep(['audit', ...args], { ...environment, ...more });
  const app = {
    ...{ url, database, environment, subscriptions, customers, calls, audit },
    fault: (_path: string): ApiFault | undefined => undefined,
    sql: (text: string) => database.query(text),
    /** Adds a subscription of a customer, by default an active one of Pro. */
    subscribe(customerId: string, fields: Subscribed = {}) {
      customers.set({ id: customerId });
      const defaults = { productId: 'prod_pro', createdSeconds: 1_700_000_000 };
      const event = createSubscriptionEvent({ customerId, ...defaults, ...fields });
      subscriptions.set(event.data.object);
    },
    /** The code of each row that is not right, by its customer. */
    async codes(...args: string[]): Promise<Readonly<Record<string, string>>> {
      const rows = rowsIn(await audit(['--json', ...args]));
      return Object.fromEntries(rows.map(({ customer, code }) => [customer, code]));
    },
  };
  return app;
}

type Ended = Awaited<ReturnType<typeof runInstep>>;

/** The result as `--json` prints it. */
export function resultIn({ stdout, stderr }: Ended): {
  version: number;
  columns: readonly string[];
  counts: Readonly<Record<string, number>>;
  plans: Readonly<Record<string, readonly string[]>>;
  rows: readonly Row[];
} {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

export const rowsIn = (ended: Ended) => resultIn(ended).rows;
