import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createRandom } from '../../../simulation/random.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const MAX_LIFE_MS = 400;
const SENDERS = 64;
/** Long enough for another request from a busy process. */
const DELAY_MS = 2_000;
const DEADLINE_MS = 10_000;

export const shutdown: Scenario = {
  fault: 'SIGTERM while the server is overloaded',
  promise:
    '/readyz reports 503 first, requests in progress are answered, the server exits with 0 ' +
    'within 10 s, and nothing is lost',
  times: { short: 2, long: 200 },
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const random = createRandom(8);
    const environment = { DATABASE_URL: url.href, SHUTDOWN_DELAY_MS: `${DELAY_MS}` };
    let server = await startInstep(environment);
    const refusals: (number | string)[] = [];
    const load = await startLoad(database, {
      url: () => server.url,
      senders: SENDERS,
      onRefused: (reason) => refusals.push(reason),
    });
    let slowestMs = 0;
    for (let done = 1; done <= times; done += 1) {
      await sleep(random.next() * MAX_LIFE_MS);
      const toldAtMs = Date.now();
      const exit = server.stop();
      await server.logged({ msg: 'shutting down' });
      expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
      expect(await exit).toBe(0);
      slowestMs = Math.max(slowestMs, Date.now() - toldAtMs);
      server = await startInstep(environment);
      onProgress?.(done);
    }
    await load.finish();
    await server.stop();
    expect(slowestMs).toBeLessThan(DEADLINE_MS);
    // The server does not listen yet, or no longer. Each answer that arrives is a 200.
    expect(refusals.filter((reason) => typeof reason === 'number')).toEqual([]);
    const figures = await load.audit(database);
    await database.close();
    return { shutdowns: times, ...figures, 'ms at most until the exit': slowestMs };
  },
};
