import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { EmbeddedService } from '../embedded-service.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';
import { canMount, SmallDisk } from '../small-disk.ts';

const FULL_MS = 1_000;

export const fullDiskEmbedded: Scenario = {
  fault: "the disk of the embedded PostgreSQL fills up until the database can't even start",
  promise:
    'requests get a 503 until there is space; the server restarts the database by itself; ' +
    'nothing acknowledged is lost',
  times: { short: 1, long: 50 },
  isPossible: canMount,
  async run({ times, onProgress }) {
    const disk = new SmallDisk();
    onTestFinished(() => disk.remove());
    const service = await EmbeddedService.start(join(disk.folder, 'data'));
    onTestFinished(() => service.remove());
    const refusals: (number | string)[] = [];
    const load = await startLoad(service.database, {
      url: () => service.server.url,
      onRefused: (reason) => refusals.push(reason),
    });
    let slowestMs = 0;
    for (let done = 1; done <= times; done += 1) {
      await sleep(200);
      disk.fill();
      // Space that PostgreSQL has already allocated can last for a while.
      await load.untilRefused();
      // PostgreSQL stops when it has no space for its write-ahead log.
      await service.database.query('select pg_switch_wal()').catch(() => undefined);
      await sleep(FULL_MS);
      disk.free();
      const { waitedMs } = await load.untilMore(20);
      slowestMs = Math.max(slowestMs, waitedMs);
      onProgress?.(done);
    }
    await load.finish();
    expect(refusals.filter((reason) => reason !== 503)).toEqual([]);
    const figures = await service.stop((database) => load.audit(database));
    return { 'times full': times, ...figures, 'ms at most until the next answer': slowestMs };
  },
};
