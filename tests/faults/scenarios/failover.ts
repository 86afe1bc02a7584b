import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../simulation/random.ts';
import { startProxy } from '../../support/network/tcp-proxy.ts';
import { join, PROMOTIONS, startPair } from '../../support/postgres/primary-and-standby.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const MAX_LIFE_MS = 800;
const DEADLINE_MS = 60_000;

export const failover: Scenario = {
  fault:
    'the primary is killed, shut down or cut off, and its synchronous standby is promoted; a proxy ' +
    'then leads to it, as HAProxy does',
  promise: 'nothing acknowledged is lost, and writes continue on the new primary without a restart',
  times: { short: 3, long: 50 },
  async run({ times, onProgress }) {
    let [primary, standby] = await startPair();
    const proxy = await startProxy(primary.url);
    const random = createRandom(6);
    const server = await startInstep({ DATABASE_URL: proxy.url.href });
    const first = connect(primary.url);
    const load = await startLoad(first, { url: () => server.url });
    await first.close();
    let slowestMs = 0;
    try {
      for (let done = 1; done <= times; done += 1) {
        await sleep(random.next() * MAX_LIFE_MS);
        await PROMOTIONS[done % PROMOTIONS.length]?.(primary, standby);
        proxy.leadTo(standby.url);
        const promotedAtMs = Date.now();
        const acknowledged = load.acknowledged;
        while (load.acknowledged === acknowledged) {
          if (Date.now() > promotedAtMs + DEADLINE_MS) throw new Error('no writes after promotion');
          await sleep(20);
        }
        slowestMs = Math.max(slowestMs, Date.now() - promotedAtMs);
        [primary, standby] = [standby, primary];
        await join(primary, standby);
        onProgress?.(done);
      }
      await load.finish();
      await server.stop();
      const database = connect(primary.url);
      const figures = await load.audit(database);
      await database.close();
      return { promotions: times, ...figures, 'ms at most until the next write': slowestMs };
    } finally {
      server.process.kill('SIGKILL');
      await proxy.close();
      await primary.remove();
      await standby.remove();
    }
  },
};
