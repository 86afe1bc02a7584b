import pg from 'pg';
import type { BenchDatabase } from '../database/bench-postgres.ts';
import { percentile } from '../load/percentile.ts';

export type CommitTimes = { readonly p50Ms: number; readonly p99Ms: number };

const WARM_UP = 200;

/** The times to commit single rows through `pg`, one after the other. */
export async function measureCommits(
  database: BenchDatabase,
  seconds: number,
): Promise<CommitTimes> {
  await database.ask('create table if not exists commits (number integer)');
  await database.checkpoint();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const insert = { name: 'insert', text: 'insert into commits (number) values ($1)' };
  for (let number = 0; number < WARM_UP; number += 1) {
    await client.query({ ...insert, values: [number] });
  }
  const tookMs: number[] = [];
  const endsAtMs = performance.now() + seconds * 1_000;
  for (let nowMs = performance.now(); nowMs < endsAtMs; ) {
    await client.query({ ...insert, values: [tookMs.length] });
    const thenMs = performance.now();
    tookMs.push(thenMs - nowMs);
    nowMs = thenMs;
  }
  await client.end();
  const sorted = Float64Array.from(tookMs).sort();
  return { p50Ms: percentile(sorted, 50), p99Ms: percentile(sorted, 99) };
}
