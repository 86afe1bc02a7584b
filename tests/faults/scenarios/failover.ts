import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../simulation/random.ts';
import { startProxy } from '../../support/network/tcp-proxy.ts';
import { join, PROMOTIONS, startPair } from '../../support/postgres/primary-and-standby.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const MAX_LIFE_MS = 800;

export const failover: Scenario = {
  fault:
    'the primary is killed, shut down or cut off, and its synchronous standby is promoted; a proxy ' +
    'then leads to it, as HAProxy does',
  promise: 'nothing acknowledged is lost, and writes continue on the new primary without a restart',
  times: { short: 3, long: 50 },
  async run(options) {
    let [primary, standby] = await startPair();
    const proxy = await startProxy(primary.url);
    const random = createRandom(6);
    const server = await startInstep({ DATABASE_URL: proxy.url.href });
    const first = connect(primary.url);
    const load = await startLoad(first, { url: () => server.url });
    await first.close();
    try {
      for (const turn of turnsOf(options)) {
        await sleep(random.next() * MAX_LIFE_MS);
        await PROMOTIONS[turn % PROMOTIONS.length]?.(primary, standby);
        proxy.leadTo(standby.url);
        await load.untilMore(1);
        [primary, standby] = [standby, primary];
        await join(primary, standby);
      }
      await load.finish();
      await server.stop();
      const database = connect(primary.url);
      const figures = await load.audit(database);
      await database.close();
      return { promotions: options.times, ...figures };
    } finally {
      server.process.kill('SIGKILL');
      await proxy.close();
      await primary.remove();
      await standby.remove();
    }
  },
};
