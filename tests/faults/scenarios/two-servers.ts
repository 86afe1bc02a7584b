import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../simulation/random.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const MAX_LIFE_MS = 400;

export const twoServers: Scenario = {
  fault: 'two servers share a database, and one of them is killed repeatedly',
  promise: 'everything acknowledged is stored, and every team is correct',
  times: { short: 4, long: 200 },
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const random = createRandom(3);
    const start = () => startInstep({ DATABASE_URL: url.href });
    const steady = await start();
    let mortal = await start();
    const load = await startLoad(database, { url: () => random.pick([steady, mortal]).url });
    for (let done = 1; done <= times; done += 1) {
      await sleep(random.next() * MAX_LIFE_MS);
      await mortal.stop('SIGKILL');
      mortal = await start();
      onProgress?.(done);
    }
    await load.finish();
    await Promise.all([steady.stop(), mortal.stop()]);
    const figures = await load.audit(database);
    await database.close();
    return { kills: times, ...figures };
  },
};
