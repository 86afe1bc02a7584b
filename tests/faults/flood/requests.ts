import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/postgres/database.ts';
import { type Attempt, startHonest } from '../honest.ts';
import type { Figures } from '../load.ts';
import { createFlood } from './flood.ts';

export type RequestsOptions = {
  readonly url: string;
  readonly database: Database;
  /** What is asked as fast as it is answered, in turns, on so many connections. */
  readonly texts: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  readonly onProgress?: ((second: number) => void) | undefined;
};

export type Flooded = {
  /** How often each status was answered to the flood: alone, and beside the requests of others. */
  readonly alone: Readonly<Record<string, number>>;
  readonly answered: Readonly<Record<string, number>>;
  /** Transactions of the database while there was nothing but the flood. */
  readonly transactions: number;
  /** The requests of others. */
  readonly attempts: readonly Attempt[];
  readonly figures: Figures;
};

/** PostgreSQL's processes tell what they did once a second. */
const TOLD_AFTER_MS = 1_200;
const REOPEN_AFTER_MS = 10;

/** A flood of requests: for a while alone, then for so many seconds beside those of others. */
export async function floodWithRequests(options: RequestsOptions): Promise<Flooded> {
  const { url, database, texts, connections, seconds, onProgress } = options;
  const flood = createFlood(url);
  const transactionsBefore = await countTransactions(database);
  const again = 'answered';
  await flood.open({ count: connections, texts, again, reopenAfterMs: REOPEN_AFTER_MS });
  await sleep(TOLD_AFTER_MS);
  const { answered: alone } = await flood.state();
  const transactions = (await countTransactions(database)) - transactionsBefore;

  const honest = await startHonest(database, url);
  for (let second = 1; second <= seconds; second += 1) {
    await sleep(1_000);
    onProgress?.(second);
  }
  await honest.finish();
  const { answered } = await flood.state();
  await flood.close();
  await flood.end();
  return {
    alone,
    answered,
    transactions,
    attempts: honest.attempts,
    figures: await honest.audit(),
  };
}

async function countTransactions(database: Database): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    `select xact_commit + xact_rollback as count from pg_stat_database
     where datname = current_database()`,
  );
  return Number(row?.count);
}

/** How many of them there were, whatever the status. */
export function sum(answered: Readonly<Record<string, number>>): number {
  return Object.values(answered).reduce((total, count) => total + count, 0);
}
