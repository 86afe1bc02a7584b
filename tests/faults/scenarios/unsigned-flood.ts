import { signWebhook } from 'instep/testing';
import { expect, vi } from 'vitest';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../../support/secrets/test-secrets.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { floodWithRequests, sum } from '../flood/requests.ts';
import { expectServed, slowestMs } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

const CONNECTIONS = 64;
const MAX_BODY_BYTES = 1_048_576;
/** Older than the tolerance for signatures. */
const STALE_MS = 400_000;
/** One line a second, and one for a start that took a second longer. */
const maxLines = (seconds: number) => 10 + seconds + 10;
/** Maintenance and the preparation of regular requests cause far less than one in ten. */
const MAX_TRANSACTIONS_A_POST = 0.1;

export const unsignedFlood: Scenario = {
  fault:
    `${CONNECTIONS} clients post webhooks with a missing, forged or stale signature and bodies ` +
    'of up to 1 MiB, as fast as possible, for the given number of seconds',
  promise:
    'each of these requests gets a 400 without a database query, other requests are still ' +
    'served, and the log gets about one line per second',
  times: { quick: 3, short: 3, long: 60 },
  async run({ times: seconds, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const { alone, answered, transactions, attempts, figures } = await floodWithRequests({
      url: server.url,
      database,
      texts: makePosts(),
      connections: CONNECTIONS,
      seconds,
      onProgress,
    });
    const refusals = () =>
      server.lines.filter((line) => line.includes('signature verification failed'));
    // The last line counts all requests of its second.
    await vi.waitFor(() => expect(counted(refusals())).toBeGreaterThanOrEqual(sum(answered)));
    await server.stop();
    await database.close();
    expect(Object.keys(answered)).toEqual(['400']);
    expect(transactions / sum(alone)).toBeLessThan(MAX_TRANSACTIONS_A_POST);
    expectServed(attempts, 100);
    const lines = refusals();
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines.length).toBeLessThan(maxLines(seconds));
    return {
      seconds,
      'requests refused': sum(answered),
      'log lines about them': lines.length,
      'database transactions while nothing else was sent': transactions,
      'requests refused in that time': sum(alone),
      'other requests': attempts.length,
      'other requests refused': 0,
      'ms p99': slowestMs(attempts),
      ...figures,
    };
  },
};

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
