import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../src/database/database.ts';
import { openEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts';
import { createRandom } from '../../../src/simulation/random.ts';
import { startInstep } from '../../support/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const MAX_LIFE_MS = 500;

export const killEmbedded: Scenario = {
  fault: 'kill -9 of the embedded PostgreSQL at random moments under load',
  promise: 'the server makes it run again by itself, nothing acknowledged is lost',
  times: { short: 3, long: 200 },
  async run({ times, onProgress }) {
    const dataFolder = mkdtempSync(join(tmpdir(), 'instep-torture-'));
    chmodSync(dataFolder, 0o755);
    const server = await startInstep({ INSTEP_DATA: dataFolder });
    const embedded = await openEmbeddedPostgres({ dataFolder, notice: () => undefined });
    const database = openDatabase({
      connections: [embedded.connection],
      maxConnections: 4,
      statementTimeoutMs: 10_000,
      onConnectionError: () => undefined,
    });
    const random = createRandom(7);
    const load = await startLoad(database, { url: () => server.url });
    for (let done = 1; done <= times; done += 1) {
      await sleep(random.next() * MAX_LIFE_MS);
      process.kill(postmasterOf(dataFolder), 'SIGKILL');
      const acknowledged = load.acknowledged;
      // Some were answered already when it died; what comes later has a new server.
      while (load.acknowledged < acknowledged + 20) await sleep(20);
      onProgress?.(done);
    }
    await load.finish();
    await server.stop();
    await embedded.ensureRunning();
    const figures = await load.audit(database);
    await database.close();
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
    return { kills: times, ...figures };
  },
};

function postmasterOf(dataFolder: string): number {
  const cluster = realpathSync(join(dataFolder, 'postgres', 'cluster'));
  const [pid = ''] = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  return Number(pid);
}
