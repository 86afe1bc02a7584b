import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { InstepProcess } from '../../support/process/instep-process.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { underLoad } from '../loaded-cluster.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const DEADLINE_MS = 1_000;
/** The time that a busy machine adds between the server's deadline and the sender's clock. */
const MARGIN_MS = 5_000;

export const freezeDatabase: Scenario = {
  fault: 'PostgreSQL is frozen (SIGSTOP) under load for the given number of seconds',
  promise:
    'every request is answered in time, and as usual if it needs no database, nothing acknowledged ' +
    'is lost, and service resumes afterward',
  times: { quick: 1, short: 3, long: 30 },
  async run(options) {
    const environment = { REQUEST_DEADLINE_MS: `${DEADLINE_MS}` };
    const timeoutMs = DEADLINE_MS + MARGIN_MS;
    const figures = await underLoad({ environment, timeoutMs }, async (loaded) => {
      await sleep(500);
      const thaw = await loaded.cluster.freeze();
      await expectAnswersWithoutDatabase(loaded.server);
      for (const _ of turnsOf(options)) await sleep(1_000);
      thaw();
      await loaded.load.untilMore(20);
    });
    return { seconds: options.times, ...figures };
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
