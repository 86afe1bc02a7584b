import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../simulation/random.ts';
import type { PostgresCluster } from '../../support/postgres/postgres-cluster.ts';
import { underLoad } from '../loaded-cluster.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const MAX_LIFE_MS = 500;

/** The kinds of outages, which take turns. */
const OUTAGES: readonly ((cluster: PostgresCluster) => Promise<void>)[] = [
  async (cluster) => {
    await cluster.end('SIGKILL');
    await cluster.start();
  },
  async (cluster) => {
    await cluster.end('SIGINT');
    await cluster.start();
  },
  async (cluster) => {
    await cluster.ask(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
    );
  },
];

export const killDatabase: Scenario = {
  fault:
    'an external PostgreSQL is killed (kill -9), restarted, or made to close all connections, ' +
    'in turn',
  promise:
    'requests get a 503 until the database is back; everything acknowledged is stored; every ' +
    'team is correct; Instep needs no restart',
  times: { quick: 3, short: 6, long: 600 },
  async run(options) {
    const random = createRandom(4);
    const figures = await underLoad({}, async ({ cluster }) => {
      for (const turn of turnsOf(options)) {
        await sleep(random.next() * MAX_LIFE_MS);
        await OUTAGES[turn % OUTAGES.length]?.(cluster);
      }
    });
    return { outages: options.times, ...figures };
  },
};
