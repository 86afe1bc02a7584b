import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { signWebhook } from 'instep/testing';
import { expect, onTestFinished, vi } from 'vitest';
import type { Database } from '../../support/internals/database.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../../support/secrets/test-secrets.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { expectServed, startRegularTraffic } from '../regular-traffic.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const FLOODER = fileURLToPath(new URL('../flood/flooder.js', import.meta.url));
const CONNECTIONS = 64;
const MAX_BODY_BYTES = 1_048_576;
/** Older than the tolerance for signatures. */
const STALE_MS = 400_000;
/** PostgreSQL's processes report their statistics once a second. */
const REPORTED_AFTER_MS = 1_200;
/** With this many requests, the transactions of maintenance are negligible. */
const MIN_ALONE = 1_000;
/** Maintenance and the preparation of regular requests cause far less than one in ten. */
const MAX_TRANSACTIONS_A_POST = 0.1;
/** One line a second, and one for a start that took a second longer. */
const maxLines = (seconds: number) => 10 + seconds + 10;

export const unsignedFlood: Scenario = {
  fault:
    `${CONNECTIONS} clients post webhooks with a missing, forged or stale signature and bodies ` +
    'of up to 1 MiB, as fast as possible, for the given number of seconds',
  promise:
    'each of these requests gets a 400 without a database query, other requests are still ' +
    'served, and the log gets about one line per second',
  times: { quick: 3, short: 3, long: 60 },
  async run(options) {
    const { times: seconds } = options;
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const transactionsBefore = await countTransactions(database);
    const { countAnswers, end } = startFlood(server.url);
    let alone = 0;
    while (alone < MIN_ALONE) {
      await sleep(REPORTED_AFTER_MS);
      alone = sum(await countAnswers());
    }
    const transactions = (await countTransactions(database)) - transactionsBefore;

    const regular = await startRegularTraffic(database, server.url);
    for (const _ of turnsOf(options)) await sleep(1_000);
    await regular.finish();
    const answered = await countAnswers();
    await end();
    const figures = await regular.audit();
    const refusals = () =>
      server.lines.filter((line) => line.includes('signature verification failed'));
    // The last line counts all requests of its second.
    await vi.waitFor(() => expect(counted(refusals())).toBeGreaterThanOrEqual(sum(answered)));
    await server.stop();
    await database.close();
    expect(Object.keys(answered)).toEqual(['400']);
    expect(transactions / alone).toBeLessThan(MAX_TRANSACTIONS_A_POST);
    expectServed(regular.attempts);
    const lines = refusals();
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines.length).toBeLessThan(maxLines(seconds));
    return { seconds, 'requests refused': sum(answered), ...figures };
  },
};

/** Starts the flood of a server, in a process of its own. */
function startFlood(url: string) {
  const child = fork(FLOODER, { execArgv: [] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  child.send({ url, texts: makePosts(), connections: CONNECTIONS });
  return {
    /** The number of answers by status. */
    async countAnswers(): Promise<Record<string, number>> {
      const answered = once(child, 'message');
      child.send('count');
      const [counts] = await answered;
      return counts;
    },
    async end(): Promise<void> {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
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
function sum(answered: Readonly<Record<string, number>>): number {
  return Object.values(answered).reduce((total, count) => total + count, 0);
}

/** The number of refusals that these lines count. */
function counted(lines: readonly string[]): number {
  return lines.reduce((total, line) => total + (JSON.parse(line).suppressed ?? 1), 0);
}

/** Three small requests of each kind for each large one. */
function makePosts(): string[] {
  const small = eventBody({ customerId: 'cus_of_nobody' });
  const large = 'a'.repeat(MAX_BODY_BYTES);
  const nowMs = Date.now();
  const forged = signWebhook(small, 'whsec_of_another_endpoint', nowMs);
  const stale = signWebhook(small, WEBHOOK_SECRET, nowMs - STALE_MS);
  return [
    ...[post(small), post(small, forged), post(small, stale), post(large)],
    ...[post(small), post(small, forged), post(small, stale), post(large, forged)],
  ];
}

function post(body: string, signature?: string): string {
  const header = signature === undefined ? '' : `Stripe-Signature: ${signature}\r\n`;
  const length = Buffer.byteLength(body);
  const head = `POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n`;
  return `${head}${header}\r\n${body}`;
}
