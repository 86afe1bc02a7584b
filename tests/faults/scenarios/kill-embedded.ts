import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { onTestFinished } from 'vitest';
import { createRandom } from '../../../simulation/random.ts';
import {
  deleteDatabase,
  killServer,
  makeOpenFolder,
} from '../../embedded-postgres/data-folders.ts';
import { openDatabase } from '../../support/internals/database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const MAX_LIFE_MS = 500;

export const killEmbedded: Scenario = {
  fault: 'the embedded PostgreSQL is killed (kill -9) at random moments under load',
  promise: 'the server restarts the database by itself, and nothing acknowledged is lost',
  times: { short: 3, long: 200 },
  async run(options) {
    const dataFolder = await makeOpenFolder();
    onTestFinished(() => deleteDatabase(dataFolder));
    const server = await startInstep({ INSTEP_DATA: dataFolder });
    const embedded = { dataFolder, onNotice: () => undefined };
    // Only the server restarts the database.
    const { connection, release } = await openEmbeddedPostgres(embedded);
    await release();
    const database = openDatabase({
      connection,
      maxConnections: 4,
      statementTimeoutMs: 10_000,
      onConnectionError: () => undefined,
    });
    const random = createRandom(7);
    const load = await startLoad(database, { url: () => server.url });
    for (const _ of turnsOf(options)) {
      await sleep(random.next() * MAX_LIFE_MS);
      await killServer(dataFolder);
      // Some were answered before the crash; later ones get a new server.
      await load.untilMore(20);
    }
    await load.finish();
    await server.stop();
    const reopened = await openEmbeddedPostgres(embedded);
    const figures = await load.audit(database);
    await database.close();
    await reopened.release();
    return { kills: options.times, ...figures };
  },
};
