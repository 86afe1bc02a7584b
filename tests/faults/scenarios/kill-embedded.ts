import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createRandom } from '../../../simulation/random.ts';
import { makeOpenFolder } from '../../embedded-postgres/data-folders.ts';
import { EmbeddedService } from '../embedded-service.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const MAX_LIFE_MS = 500;

export const killEmbedded: Scenario = {
  fault: 'the embedded PostgreSQL is killed (kill -9) at random moments under load',
  promise: 'the server restarts the database by itself, and nothing acknowledged is lost',
  times: { short: 3, long: 200 },
  async run({ times, onProgress }) {
    const service = await EmbeddedService.start(await makeOpenFolder());
    onTestFinished(() => service.remove());
    const random = createRandom(7);
    const load = await startLoad(service.database, { url: () => service.server.url });
    let slowestMs = 0;
    for (let done = 1; done <= times; done += 1) {
      await sleep(random.next() * MAX_LIFE_MS);
      await service.killPostgres();
      // Some were answered before the crash; later ones get a new server.
      const { waitedMs } = await load.untilMore(20);
      slowestMs = Math.max(slowestMs, waitedMs);
      onProgress?.(done);
    }
    await load.finish();
    const figures = await service.stop((database) => load.audit(database));
    return { kills: times, ...figures, 'ms at most until the next answer': slowestMs };
  },
};
