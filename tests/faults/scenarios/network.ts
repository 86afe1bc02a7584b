import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../support/internals/database.ts';
import { type Behavior, startProxy } from '../../support/network/tcp-proxy.ts';
import { PostgresCluster } from '../../support/postgres/postgres-cluster.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { postSigned, startInstep } from '../../support/process/instep-process.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

/**
 * The faults with their durations. A statement that hangs when the fault ends continues to hang until the
 * server's timeout.
 */
const FAULTS: readonly (readonly [Behavior, number])[] = [
  ['slow', 1_500],
  ['mute', 200],
  ['reset', 300],
  ['swallow', 200],
  ['refuse', 300],
];

const DEADLINE_MS = 5_000;
/** The time that a busy machine adds between the server's deadline and the sender's clock. */
const MARGIN_MS = 3_000;
const CALM_MS = 300;
/** The number of the server's connections, so that each of them is used. */
const CHECKS = 10;

export const network: Scenario = {
  fault:
    'the network to PostgreSQL slows down, drops responses, drops everything, resets ' +
    'connections or goes down, under load',
  promise:
    'no request exceeds its deadline, nothing acknowledged is lost, everything works again ' +
    'no later than one request deadline after the fault, and no broken connection stays in use',
  times: { short: 5, long: 100 },
  async run({ times, onProgress }) {
    const cluster = await PostgresCluster.create();
    await cluster.start();
    const database = connect(cluster.url);
    await migrate(database);
    const proxy = await startProxy(cluster.url);
    const environment = { DATABASE_URL: proxy.url.href, REQUEST_DEADLINE_MS: `${DEADLINE_MS}` };
    const server = await startInstep(environment);
    const refusals = new Set<number | string>();
    const load = await startLoad(database, {
      url: () => server.url,
      timeoutMs: DEADLINE_MS + MARGIN_MS,
      onRefused: (reason) => refusals.add(reason),
    });
    let slowestMs = 0;
    try {
      for (let done = 0; done < times; done += 1) {
        const [behavior, durationMs] = FAULTS[done % FAULTS.length] ?? ['forward', 0];
        await sleep(CALM_MS);
        await proxy.become(behavior);
        await sleep(durationMs);
        await proxy.become('forward');
        slowestMs = Math.max(slowestMs, await untilAccepted(server.url, behavior));
        await expectUsable(server.url, behavior);
        onProgress?.(done + 1);
      }
      await load.finish();
      await server.stop();
      const others = [...refusals].filter((reason) => reason !== 503);
      if (others.length > 0) throw new Error(`not 503: ${others.join(', ')}`);
      const figures = await load.audit(database);
      return { faults: times, ...figures, 'ms at most until the next write': slowestMs };
    } finally {
      server.process.kill('SIGKILL');
      await proxy.close();
      await database.close();
      await cluster.remove();
    }
  },
};

/** The time until an event is accepted again, in milliseconds. */
async function untilAccepted(url: string, behavior: Behavior): Promise<number> {
  const startedAtMs = Date.now();
  while ((await post(url)) !== 200) {
    if (Date.now() > startedAtMs + DEADLINE_MS + MARGIN_MS) {
      throw new Error(`no event was accepted in time after ${behavior}`);
    }
    await sleep(20);
  }
  return Date.now() - startedAtMs;
}

/** Each lookup uses its own connection, so a broken connection would fail one. */
async function expectUsable(url: string, behavior: Behavior): Promise<void> {
  const check = async () => (await fetch(`${url}/readyz`)).status;
  const checks = await Promise.all(Array.from({ length: CHECKS }, check));
  const posts = await Promise.all(Array.from({ length: CHECKS }, () => post(url)));
  const failed = [...checks, ...posts].filter((status) => status !== 200);
  if (failed.length > 0) throw new Error(`after ${behavior} and an accepted event: ${failed}`);
}

async function post(url: string): Promise<number> {
  const body = eventBody({ customerId: 'cus_of_nobody' });
  const signal = AbortSignal.timeout(DEADLINE_MS + MARGIN_MS);
  const response = await postSigned(url, body, { signal });
  await response.arrayBuffer();
  return response.status;
}
