import { setTimeout as sleep } from 'node:timers/promises';
import { signWebhook } from 'instep/testing';
import { addTeam } from '../../support/internals/rows.ts';
import {
  dropRole,
  HOSTILE_TEAMS,
  holdLock,
  makeHostile,
} from '../../support/postgres/hostile-teams.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { HEADERS, WEBHOOK_SECRET } from '../../support/secrets/test-secrets.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { expectServed, slowestMs, startRegularTraffic } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

const SENDERS = 8;
/** REQUEST_DEADLINE_MS. */
const MAX_P99_MS = 5_000;
const PAUSE_MS = 20;
const MIN_SERVED_PERCENT = 99;

export const hostileApplication: Scenario = {
  fault:
    "the application's triggers fail with any SQLSTATE, sleep, wait for a lock, drop the update or " +
    `change it, or its policies refuse it, for ${HOSTILE_TEAMS.length} teams whose events are sent for the given number of seconds`,
  promise:
    'at least 99% of the events of other teams get a 200 at the first attempt, 99% of the answers take at ' +
    'most 5 seconds, and each of these teams is correct',
  times: { short: 5, long: 60 },
  async run({ times: seconds, onProgress }) {
    const { url, database } = await createDatabase();
    const roleUrl = await makeHostile(database.query, url);
    const server = await startInstep({ DATABASE_URL: roleUrl.href });
    for (const name of HOSTILE_TEAMS)
      await addTeam(database.query, { name, customerId: customerOf(name) });
    const answers: Record<string, number> = {};
    let isOver = false;

    async function send(name: string): Promise<void> {
      for (let createdSeconds = 1_700_000_000; !isOver; createdSeconds += 1) {
        const body = eventBody({ customerId: customerOf(name), createdSeconds });
        const signature = signWebhook(body, WEBHOOK_SECRET, Date.now());
        const { status } = await fetch(`${server.url}/api/stripe/webhook`, {
          method: 'POST',
          headers: { ...HEADERS, 'stripe-signature': signature },
          body,
        });
        answers[status] = (answers[status] ?? 0) + 1;
        await sleep(PAUSE_MS);
      }
    }

    const regular = await startRegularTraffic(database, server.url, SENDERS);
    const release = await holdLock(url);
    const hostile = Promise.all(HOSTILE_TEAMS.map(send));
    for (let second = 1; second <= seconds; second += 1) {
      await Promise.race([sleep(1_000), hostile]);
      onProgress?.(second);
    }
    isOver = true;
    await Promise.all([regular.finish(), hostile]);
    await release();
    await server.stop();
    const figures = await regular.audit();
    await dropRole(database.query, roleUrl);
    await database.close();
    expectServed(regular.attempts, MIN_SERVED_PERCENT);
    const p99Ms = slowestMs(regular.attempts);
    if (p99Ms > MAX_P99_MS) throw new Error(`requests of other teams took up to ${p99Ms} ms`);
    const statuses = Object.entries(answers).map(([status, count]) => [
      `events of hostile teams answered with ${status}`,
      count,
    ]);
    return { seconds, ...Object.fromEntries(statuses), 'ms p99 of others': p99Ms, ...figures };
  },
};

const customerOf = (name: string) => `cus_${name.replace(' ', '_')}`;
