import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { migrate } from '../../support/internals/database.ts';
import { PostgresCluster } from '../../support/postgres/postgres-cluster.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';
import { canMount, SmallDisk } from '../small-disk.ts';

const FULL_MS = 1_000;

export const fullDisk: Scenario = {
  fault: 'the disk of an external PostgreSQL fills up, and space is freed again',
  promise:
    'requests get a 503 until there is space; service resumes by itself; nothing acknowledged ' +
    'is lost',
  times: { short: 1, long: 50 },
  isPossible: canMount,
  async run({ times, onProgress }) {
    const disk = new SmallDisk();
    onTestFinished(() => disk.remove());
    const cluster = await PostgresCluster.create(disk.folder);
    onTestFinished(() => cluster.end('SIGKILL'));
    await cluster.start();
    const database = connect(cluster.url);
    await migrate(database);
    const server = await startInstep({ DATABASE_URL: cluster.url.href });
    const refusals: (number | string)[] = [];
    const load = await startLoad(database, {
      url: () => server.url,
      senders: 2,
      onRefused: (reason) => refusals.push(reason),
    });
    let slowestMs = 0;
    for (let done = 1; done <= times; done += 1) {
      await sleep(200);
      disk.fill();
      // Space that PostgreSQL has already allocated can last for a while.
      await load.untilRefused();
      await sleep(FULL_MS);
      disk.free();
      // PostgreSQL stops when it has no space for its write-ahead log.
      if (!cluster.isRunning) await cluster.start();
      const { waitedMs } = await load.untilMore(20);
      slowestMs = Math.max(slowestMs, waitedMs);
      onProgress?.(done);
    }
    await load.finish();
    await server.stop();
    expect(refusals.filter((reason) => reason !== 503)).toEqual([]);
    const figures = await load.audit(database);
    await database.close();
    return { 'times full': times, ...figures, 'ms at most until the next answer': slowestMs };
  },
};
