import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../support/internals/database.ts';
import type { Figures } from '../load.ts';
import { type Attempt, startRegularTraffic } from '../regular-traffic.ts';
import { createFlood } from './flood.ts';

type RequestsOptions = {
  readonly url: string;
  readonly database: Database;
  /** Requests in rotation; each connection sends the next one after an answer. */
  readonly texts: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  readonly onProgress?: ((second: number) => void) | undefined;
};

type Flooded = {
  /** The number of answers to the flood by status: alone, and beside regular requests. */
  readonly alone: Readonly<Record<string, number>>;
  readonly answered: Readonly<Record<string, number>>;
  /** Transactions of the database during the flood alone. */
  readonly transactions: number;
  /** The regular requests. */
  readonly attempts: readonly Attempt[];
  readonly figures: Figures;
};

/** PostgreSQL's processes report their statistics once a second. */
const REPORTED_AFTER_MS = 1_200;
const REOPEN_AFTER_MS = 10;
/** With this many requests, the transactions of maintenance are negligible. */
const MIN_ALONE = 1_000;

/** Runs a flood of requests, first alone and then beside regular requests. */
export async function floodWithRequests(options: RequestsOptions): Promise<Flooded> {
  const { url, database, texts, connections, seconds, onProgress } = options;
  const flood = createFlood(url);
  const transactionsBefore = await countTransactions(database);
  const again = 'answered';
  await flood.open({ count: connections, texts, again, reopenAfterMs: REOPEN_AFTER_MS });
  let alone: Flooded['alone'];
  do {
    await sleep(REPORTED_AFTER_MS);
    alone = (await flood.state()).answered;
  } while (sum(alone) < MIN_ALONE);
  const transactions = (await countTransactions(database)) - transactionsBefore;

  const regular = await startRegularTraffic(database, url);
  for (let second = 1; second <= seconds; second += 1) {
    await sleep(1_000);
    onProgress?.(second);
  }
  await regular.finish();
  const { answered } = await flood.state();
  await flood.close();
  await flood.end();
  return {
    alone,
    answered,
    transactions,
    attempts: regular.attempts,
    figures: await regular.audit(),
  };
}

async function countTransactions(database: Database): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    `select xact_commit + xact_rollback as count from pg_stat_database
     where datname = current_database()`,
  );
  return Number(row?.count);
}

/** The number of answers of any status. */
export function sum(answered: Readonly<Record<string, number>>): number {
  return Object.values(answered).reduce((total, count) => total + count, 0);
}
