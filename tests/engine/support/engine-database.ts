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
import { parseEvent } from '../../support/internals/stripe.ts';
import { createEmptyDatabase } from '../../support/postgres/test-database.ts';
import { schemaSql } from '../../support/schemas/schemas.ts';
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

let count = 0;

function next(): string {
  count += 1;
  return String(count);
}

type Sent = {
  readonly customerId?: string;
  readonly subscriptionId?: string;
  readonly status?: string;
  readonly createdSeconds?: number | null;
  readonly productId?: string;
  readonly productName?: string | null;
  readonly previousAttributes?: object;
  readonly eventId?: string;
  readonly quantity?: number;
};

/** An event as the webhook receives it. */
export function sentEvent(sent: Sent = {}): LogEvent {
  const { customerId = 'cus_1', subscriptionId = 'sub_1', status = 'active' } = sent;
  const { createdSeconds = 10, productId = 'prod_pro', productName = 'Pro' } = sent;
  const { eventId = `evt_${next()}`, quantity = 1 } = sent;
  const item = { id: 'si_1', quantity, price: { id: 'price_1', product: productId } };
  const isDeleted = status === 'canceled';
  const body = JSON.stringify({
    id: eventId,
    object: 'event',
    api_version: '2025-08-27.basil',
    ...(createdSeconds !== null && { created: createdSeconds }),
    type: `customer.subscription.${isDeleted ? 'deleted' : 'updated'}`,
    data: {
      object: {
        ...{ id: subscriptionId, object: 'subscription', customer: customerId, status },
        items: { data: [item] },
      },
      ...(sent.previousAttributes && { previous_attributes: sent.previousAttributes }),
    },
  });
  return receivedFrom(body, { productName });
}

export function receivedFrom(
  body: string,
  {
    productName = null,
    receivedAtMs = 1_000_000,
  }: { productName?: string | null; receivedAtMs?: number } = {},
): LogEvent {
  const parsed = parseEvent(body, { receivedAtMs, nonce: next });
  const common = {
    body: Buffer.from(body),
    receivedAtMs,
    source: 'delivery',
    productName,
  } as const;
  if (parsed.kind === 'readable') return { ...parsed, ...common };
  if (parsed.kind === 'unreadable') return { ...parsed, ...common };
  throw new RangeError(`a test's event is ${parsed.kind}`);
}
