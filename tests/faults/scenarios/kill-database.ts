import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../simulation/random.ts';
import { migrate } from '../../support/internals/database.ts';
import { PostgresCluster } from '../../support/postgres/postgres-cluster.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

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
  async run({ times, onProgress }) {
    const cluster = await PostgresCluster.create();
    await cluster.start();
    const database = connect(cluster.url);
    await migrate(database);
    const random = createRandom(4);
    const server = await startInstep({ DATABASE_URL: cluster.url.href });
    const load = await startLoad(database, { url: () => server.url });
    try {
      for (let done = 1; done <= times; done += 1) {
        await sleep(random.next() * MAX_LIFE_MS);
        await OUTAGES[done % OUTAGES.length]?.(cluster);
        onProgress?.(done);
      }
      await load.finish();
      await server.stop();
      const figures = await load.audit(database);
      return { outages: times, ...figures };
    } finally {
      await database.close();
      await cluster.remove();
    }
  },
};
