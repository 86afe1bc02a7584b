// Compares Instep's pipeline with the engine's log, over which it is, in one process and in turn: processor time per event,
// of the client and of PostgreSQL, for one event alone and in batches. Every event changes its team's plan; parsing and HTTP are left
// out. The blocks are short, and the ratio is that of neighbors, so that a busy machine slows both down.
// `node bench/dist/bench/engine/compare.js` after `npm run build:tools`; an argument is the number of blocks.

import { readFileSync } from 'node:fs';
import { EventLog, type LogEvent } from 'instep-engine/log';
import {
  createTables,
  ENGINE_MIGRATIONS,
  ENGINE_SCHEMA,
  type PlanColumn,
  serverAt,
  type TeamsTable,
} from 'instep-engine/postgres';
import type { PlanFieldName } from 'instep-engine/rule';
import { IngestPipeline } from 'instep-engine/src/log/pipeline.ts';
import { migrate } from 'instep-engine/src/postgres/migrate.ts';
import { createLogger } from 'instep-engine/src/runtime/logging.ts';
import { parseEvent } from 'instep-engine/src/stripe/parse-event.ts';
import { type BenchDatabase, openBenchPostgres } from '../database/bench-postgres.ts';
import { openInstepDatabase } from '../database/instep-database.ts';
import { bodyOf, contentOf, customerIdOf, PLANS, productIdOf } from '../load/subscription-event.ts';

const TEAMS = 1_000;
const ROUNDS = Number(process.argv[2] ?? 60);
/** `warmUp`: as many batches prepare statements, compile code, and give each customer a row. */
const LOADS = [
  { name: 'alone', size: 1, batches: 20, warmUp: 2_000 },
  { name: 'batches of 30', size: 30, batches: 5, warmUp: 60 },
] as const;

function textColumn(name: string): PlanColumn {
  return { name, type: 'text', isNullable: true };
}

const TEAMS_TABLE: TeamsTable = {
  name: 'public.teams',
  id: { column: 'id', type: 'bigint' },
  customerId: 'provider_customer_id',
  plan: new Map<PlanFieldName, PlanColumn>([
    ['subscriptionStatus', textColumn('subscription_status')],
    ['planName', textColumn('plan_name')],
    ['providerProductId', textColumn('provider_product_id')],
    ['providerSubscriptionId', textColumn('provider_subscription_id')],
  ]),
  updatedAt: 'updated_at',
};

type System = { readonly name: string; ingest(events: readonly LogEvent[]): Promise<unknown> };
type Figures = { clientUs: number; postgresUs: number; wallUs: number };

const postgres = await openBenchPostgres(undefined, ['fsync = off', 'autovacuum = off']);
if (postgres.pid === null) throw new RangeError('the server runs here');
const { pid } = postgres;
const systems = [
  await openPipeline(await postgres.create('pipeline')),
  await openEngine(await postgres.create('engine')),
];

let number = 0;
for (const { name, size, batches, warmUp } of LOADS) {
  const loads = (count: number) =>
    Array.from({ length: count }, () => Array.from({ length: size }, nextEvent));
  const first = loads(warmUp);
  for (const system of systems) await measure(system, first, pid);
  const rounds: Figures[][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const events = loads(batches);
    const [one, other] = round % 2 === 0 ? systems : systems.toReversed();
    if (one === undefined || other === undefined) throw new RangeError('two systems are compared');
    const measured = [await measure(one, events, pid), await measure(other, events, pid)];
    rounds.push(round % 2 === 0 ? measured : measured.toReversed());
  }
  for (const field of ['clientUs', 'postgresUs', 'wallUs'] as const) {
    const [pipeline, engine] = systems.map((_, index) =>
      Math.round(median(rounds.map((round) => round[index]?.[field] ?? 0))),
    );
    const ratios = rounds.map(([before, after]) => (after?.[field] ?? 0) / (before?.[field] ?? 0));
    process.stdout.write(
      `${name}, ${field}: pipeline ${pipeline}, engine ${engine}, ratio ${median(ratios).toFixed(2)}\n`,
    );
  }
}
await postgres.close();
process.exit(0);

/** The same events for both systems. */
function nextEvent(): LogEvent {
  number += 1;
  const body = bodyOf(contentOf(number, TEAMS));
  const receivedAtMs = 1_800_000_000_000;
  const parsed = parseEvent(body, { receivedAtMs, nonce: String });
  if (parsed.kind !== 'readable') throw new RangeError(`the event is ${parsed.kind}`);
  const productName = PLANS[0];
  const source = 'delivery';
  return {
    ...parsed,
    body: Buffer.from(body),
    receivedAtMs,
    source,
    productName,
  };
}

async function measure(
  { ingest }: System,
  loads: readonly (readonly LogEvent[])[],
  serverPid: number,
): Promise<Figures> {
  const serverBeforeUs = processorUs(serverPid);
  const before = process.cpuUsage();
  const startedAtMs = performance.now();
  for (const events of loads) await ingest(events);
  const tookMs = performance.now() - startedAtMs;
  const { user, system } = process.cpuUsage(before);
  const count = loads.flat().length;
  return {
    clientUs: (user + system) / count,
    postgresUs: (processorUs(serverPid) - serverBeforeUs) / count,
    wallUs: (tookMs * 1_000) / count,
  };
}

/** Of a server's processes that run, in µs: the ticks of `/proc/PID/stat` are longer than a block. */
function processorUs(server: number): number {
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim();
  return children.split(' ').reduce((sum, child) => {
    try {
      return sum + Number.parseInt(readFileSync(`/proc/${child}/schedstat`, 'utf8'), 10) / 1_000;
    } catch {
      // It has just ended.
      return sum;
    }
  }, 0);
}

async function openPipeline({ url, ask }: BenchDatabase): Promise<System> {
  const database = openInstepDatabase(url);
  await migrate(database, { migrations: ENGINE_MIGRATIONS, others: createTables(true) });
  await ask(
    `insert into teams (name, provider_customer_id) select id, id from unnest($1::text[]) as id`,
    [customerIds()],
  );
  await ask(`insert into instep.products (product_id, name) values ${products()}`);
  const { ingest } = new IngestPipeline({
    database,
    api: { retrieveProductName: async () => null },
    logger: createLogger('silent'),
    planSelection: 'newest',
    maxQueued: 10_000,
  });
  return {
    name: "Instep's pipeline",
    ingest: (events) =>
      ingest(
        events.map((event) => {
          if (event.kind !== 'readable') throw new RangeError('all events are readable');
          return { ...event, kind: 'readable', type: 'customer.subscription.updated' };
        }),
      ),
  };
}

async function openEngine({ url, ask }: BenchDatabase): Promise<System> {
  await ask(ENGINE_SCHEMA);
  await ask(`
    create function touch() returns trigger language plpgsql as
    $$ begin new.updated_at := now(); return new; end $$;
    create table teams (
      id int primary key generated by default as identity, name text, created_at timestamptz default now(),
      updated_at timestamptz default now(), provider_customer_id text unique, provider_subscription_id text,
      provider_product_id text, plan_name text, subscription_status text
    ) with (fillfactor = 80);
    create trigger teams_touch before update on teams for each row execute function touch()`);
  await ask(
    `insert into teams (name, provider_customer_id) select id, id from unnest($1::text[]) as id`,
    [customerIds()],
  );
  await ask(`insert into instep.products (product_id, name) values ${products()}`);
  const log = new EventLog({
    database: serverAt(url).open({
      maxConnections: 8,
      statementTimeoutMs: 30_000,
      onConnectionError: () => undefined,
    }),
    findTeams: async () => TEAMS_TABLE,
    planSelection: 'newest',
    maxQueued: 10_000,
    deadlineMs: 30_000,
  });
  return { name: 'engine', ingest: (events) => log.ingest(events) };
}

function customerIds(): string[] {
  return Array.from({ length: TEAMS }, (_, index) => customerIdOf(index + 1));
}

function products(): string {
  return PLANS.map((name, index) => `('${productIdOf(index)}', '${name}')`).join(', ');
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
