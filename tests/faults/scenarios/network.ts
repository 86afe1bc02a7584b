import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type Behavior, startProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { postSigned } from '../../support/process/instep-process.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { underLoad } from '../loaded-cluster.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

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
  async run(options) {
    let proxy: TcpProxy | undefined;
    const reach = async (databaseUrl: URL) => {
      proxy = await startProxy(databaseUrl);
      onTestFinished(proxy.close);
      return proxy.url;
    };
    const environment = { REQUEST_DEADLINE_MS: `${DEADLINE_MS}` };
    const timeoutMs = DEADLINE_MS + MARGIN_MS;
    const figures = await underLoad({ reach, environment, timeoutMs }, async ({ server }) => {
      for (const turn of turnsOf(options)) {
        const [behavior, durationMs] = FAULTS[(turn - 1) % FAULTS.length] ?? ['forward', 0];
        await sleep(CALM_MS);
        await proxy?.become(behavior);
        await sleep(durationMs);
        await proxy?.become('forward');
        await untilAccepted(server.url, behavior);
        await expectUsable(server.url, behavior);
      }
    });
    return { faults: options.times, ...figures };
  },
};

/** Waits until an event is accepted again. */
async function untilAccepted(url: string, behavior: Behavior): Promise<void> {
  const startedAtMs = Date.now();
  while ((await post(url)) !== 200) {
    if (Date.now() > startedAtMs + DEADLINE_MS + MARGIN_MS) {
      throw new Error(`no event was accepted in time after ${behavior}`);
    }
    await sleep(20);
  }
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
