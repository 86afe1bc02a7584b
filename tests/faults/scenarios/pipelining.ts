import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { createFlood } from '../flood/flood.ts';
import { sum } from '../flood/requests.ts';
import { expectServed, slowestMs, startRegularTraffic } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

const CONNECTIONS = 300;
const REQUESTS_AT_ONCE = 1_600;
const AGAIN_MS = 1_000;
const REOPEN_AFTER_MS = 10;
const MAX_P99_MS = 1_000;

export const pipelining: Scenario = {
  fault:
    `${CONNECTIONS} clients send ${REQUESTS_AT_ONCE.toLocaleString('en')} profile requests at once ` +
    'every second, without waiting for responses, and connect again as soon as they are closed, for the ' +
    'given number of seconds',
  promise: 'other requests are still served, and 99% of them within a second',
  times: { short: 3, long: 60 },
  async run({ times: seconds, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const regular = await startRegularTraffic(database, server.url);
    await regular.untilMore(100);
    const flood = createFlood(server.url);
    await flood.open({
      count: CONNECTIONS,
      texts: ['GET /api/user HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(REQUESTS_AT_ONCE)],
      again: AGAIN_MS,
      reopenAfterMs: REOPEN_AFTER_MS,
    });
    for (let second = 1; second <= seconds; second += 1) {
      await sleep(1_000);
      onProgress?.(second);
    }
    await regular.finish();
    const { answered } = await flood.state();
    await flood.end();
    await server.stop();
    const figures = await regular.audit();
    await database.close();
    expectServed(regular.attempts, 100);
    const p99Ms = slowestMs(regular.attempts);
    if (p99Ms > MAX_P99_MS) throw new Error(`other requests took up to ${p99Ms} ms`);
    return {
      seconds,
      'pipelined requests answered': sum(answered),
      'other requests': regular.attempts.length,
      'other requests refused': 0,
      'ms p99': p99Ms,
      ...figures,
    };
  },
};
