import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { migrate } from '../../support/internals/database.ts';
import { PostgresCluster } from '../../support/postgres/postgres-cluster.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../../support/process/instep-process.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const DEADLINE_MS = 1_000;
/** The time that a busy machine adds between the server's deadline and the sender's clock. */
const MARGIN_MS = 5_000;

export const freezeDatabase: Scenario = {
  fault: 'PostgreSQL is frozen (SIGSTOP) under load for the given number of seconds',
  promise:
    'every request is answered in time, and as usual if it needs no database, nothing acknowledged ' +
    'is lost, and service resumes afterward',
  times: { quick: 1, short: 3, long: 30 },
  async run({ times: seconds, onProgress }) {
    const cluster = await PostgresCluster.create();
    await cluster.start();
    const database = connect(cluster.url);
    await migrate(database);
    const environment = { DATABASE_URL: cluster.url.href, REQUEST_DEADLINE_MS: `${DEADLINE_MS}` };
    const server = await startInstep(environment);
    const refusals = new Map<number | string, number>();
    const load = await startLoad(database, {
      url: () => server.url,
      timeoutMs: DEADLINE_MS + MARGIN_MS,
      onRefused: (reason) => refusals.set(reason, (refusals.get(reason) ?? 0) + 1),
    });
    try {
      await sleep(500);
      const thaw = await cluster.freeze();
      await expectAnswersWithoutDatabase(server);
      for (let second = 1; second <= seconds; second += 1) {
        await sleep(1_000);
        onProgress?.(second);
      }
      thaw();
      const { waitedMs } = await load.untilMore(20);
      await load.finish();
      await server.stop();
      const figures = await load.audit(database);
      const others = [...refusals.keys()].filter((reason) => reason !== 503);
      if (others.length > 0) throw new Error(`not 503: ${others.join(', ')}`);
      return { seconds, ...figures, 'ms until answered again': waitedMs };
    } finally {
      await database.close();
      await cluster.remove();
    }
  },
};

async function expectAnswersWithoutDatabase({ url, post }: InstepProcess): Promise<void> {
  const unsigned = await fetch(`${url}/api/stripe/webhook`, { method: 'POST', body: '{}' });
  expect(unsigned.status).toBe(400);
  expect((await post(eventBody({ type: 'invoice.paid' }))).status).toBe(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const profile = await fetch(`${url}/api/user`, { headers: { cookie: 'session=x' } });
  expect([profile.status, await profile.text()]).toEqual([200, 'null']);
}
