import type { SubscriptionEventFields } from 'instep/testing';
import { EventLog, type EventLogOptions, type LogEvent } from 'instep-engine/log';
import {
  ENGINE_SCHEMA,
  type PlanColumn,
  type StatementRunner,
  type TeamsTable,
} from 'instep-engine/postgres';
import { foldLog } from 'instep-engine/repair';
import type { PlanFieldName } from 'instep-engine/rule';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { createEmptyDatabase } from '../../support/postgres/test-database.ts';
import { schemaSql } from '../../support/schemas/schemas.ts';
import { eventBody, received } from '../../support/stripe/events.ts';
import { openPg } from './drivers.ts';

function textColumn(name: string): PlanColumn {
  return { name, type: 'text', isNullable: true };
}

/** The teams of nextjs/saas-starter. */
export const STARTER_TEAMS: TeamsTable = {
  name: 'public.teams',
  id: { column: 'id', type: 'bigint' },
  customerId: 'stripe_customer_id',
  plan: new Map<PlanFieldName, PlanColumn>([
    ['subscriptionStatus', textColumn('subscription_status')],
    ['planName', textColumn('plan_name')],
    ['providerProductId', textColumn('stripe_product_id')],
    ['providerSubscriptionId', textColumn('stripe_subscription_id')],
  ]),
  updatedAt: 'updated_at',
};

/** An app's database with the engine's tables, as its app and its operators see it. */
export async function openEngineDatabase() {
  const url = await createEmptyDatabase();
  const pool = new pg.Pool({ connectionString: url.href, max: 20 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  onTestFinished(() => pool.end());
  await pool.query(ENGINE_SCHEMA);
  await pool.query(schemaSql('saas-starter'));
  await pool.query(`alter table teams alter name set default 'team'`);
  // As the look-up of names stores it.
  await pool.query(`insert into instep.products (product_id, name) values ('prod_pro', 'Pro')`);
  const database = openPg(url.href);
  onTestFinished(database.close);
  const query = async (text: string, values: unknown[] = []) =>
    (await pool.query(text, values)).rows;
  return { url, pool, database, query };
}

/** The engine's log, with the jobs that use it. */
export function openLog(database: StatementRunner, options: Partial<EventLogOptions> = {}) {
  const all: EventLogOptions = {
    ...{ database, findTeams: async () => STARTER_TEAMS, planSelection: 'newest' },
    ...{ maxQueued: 1_000, deadlineMs: 5_000 },
    ...options,
  };
  const log = new EventLog(all);
  return {
    ingest: (events: readonly LogEvent[]) => log.ingest(events),
    settle: (customerId: string) => log.settle(customerId),
    async rebuild(customerId: string, isDryRun = false) {
      const found = await foldLog(customerId, all);
      if (!isDryRun) await log.settle(customerId, found);
      return found;
    },
  };
}

type Sent = Omit<Partial<SubscriptionEventFields>, 'createdSeconds'> & {
  readonly createdSeconds?: number | null;
  /** As it was looked up. */
  readonly productName?: string | null;
};

/** An event as the webhook receives it. */
export function sentEvent(sent: Sent = {}): LogEvent {
  const { createdSeconds = 10, productName = 'Pro', ...fields } = sent;
  const type = `customer.subscription.${sent.status === 'canceled' ? 'deleted' : 'updated'}`;
  const made = { productId: 'prod_pro', priceId: 'price_1', createdSeconds: createdSeconds ?? 0 };
  const event = JSON.parse(eventBody({ ...made, type, ...fields }));
  const body = JSON.stringify({ ...event, created: createdSeconds ?? undefined });
  return receivedFrom(body, { productName });
}

type Receipt = { readonly productName?: string | null; readonly receivedAtMs?: number };

export const receivedFrom = (body: string, receipt: Receipt = {}): LogEvent => ({
  ...received(body, receipt.receivedAtMs ?? 1_000_000),
  productName: receipt.productName ?? null,
});
