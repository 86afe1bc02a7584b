import type { Ask, BenchDatabase, BenchPostgres } from '../database/bench-postgres.ts';
import { bodyOf, contentOf } from '../load/subscription-event.ts';
import type { PreparedSystem } from '../systems/prepared-system.ts';
import { ServerRun } from './server-run.ts';

/** The bytes that an event takes. */
export type EventBytes = {
  /** The body as it was sent. */
  readonly body: number;
  /** The bytes in all tables and indexes. */
  readonly stored: number;
  /** The bytes in the write-ahead log. */
  readonly written: number;
  readonly problems: readonly string[];
};

/** Sends this many events to a new database, and measures its growth. */
export async function measureEventBytes(
  prepared: PreparedSystem,
  postgres: BenchPostgres,
  count: number,
): Promise<EventBytes> {
  const { database, teams } = prepared;
  const run = await ServerRun.start(prepared, postgres);
  try {
    const before = await sizesOf(database);
    const { problems } = await run.sendCount(count);
    const writtenAfter = await writtenBytes(database.ask);
    const after = await sizesOf(database);
    const perEvent = (bytes: number) => bytes / count;
    return {
      body: bodyOf(contentOf(count - 1, teams)).length,
      stored: perEvent(after.stored - before.stored),
      written: perEvent(writtenAfter - before.written),
      problems,
    };
  } finally {
    await run.end();
  }
}

async function sizesOf(database: BenchDatabase): Promise<{ stored: number; written: number }> {
  await database.ask('vacuum');
  const [row] = await database.ask<{ bytes: string }>(
    `select sum(pg_total_relation_size(pg_class.oid)) as bytes
       from pg_class
       join pg_namespace on pg_namespace.oid = relnamespace
      where relkind in ('r', 'm')
        and nspname not in ('pg_catalog', 'information_schema')`,
  );
  return { stored: Number(row?.bytes), written: await writtenBytes(database.ask) };
}

/** The bytes written to the write-ahead log so far. */
async function writtenBytes(ask: Ask): Promise<number> {
  const [row] = await ask<{ bytes: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
  );
  return Number(row?.bytes);
}
