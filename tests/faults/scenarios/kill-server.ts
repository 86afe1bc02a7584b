import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../simulation/random.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { SETTINGS, spawnInstep, startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const MAX_LIFE_MS = 400;
/** The share of servers that are killed before they listen. */
const KILLED_EARLY = 0.25;
const MAX_START_MS = 500;

export const killServer: Scenario = {
  fault: 'the server is killed (kill -9) at random moments, under load and during startup',
  promise: 'everything acknowledged is stored, and every team is correct',
  times: { quick: 2, short: 5, long: 500 },
  async run(options) {
    const { url, database } = await createDatabase();
    const random = createRandom(2);
    const start = () => startInstep({ DATABASE_URL: url.href });
    let server = await start();
    const load = await startLoad(database, { url: () => server.url });
    for (const _ of turnsOf(options)) {
      await sleep(random.next() * MAX_LIFE_MS);
      await server.stop('SIGKILL');
      if (random.chance(KILLED_EARLY)) {
        const stillborn = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL: url.href });
        await sleep(random.next() * MAX_START_MS);
        await stillborn.stop('SIGKILL');
      }
      server = await start();
    }
    await load.finish();
    await server.stop();
    const figures = await load.audit(database);
    await database.close();
    return { kills: options.times, ...figures };
  },
};
