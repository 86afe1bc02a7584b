import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../../src/database/migrate.ts';
import { startInstep } from '../../support/instep-process.ts';
import { PostgresCluster } from '../../support/postgres-cluster.ts';
import { connect } from '../../support/test-database.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const SIZE = '256m';
const FULL_MS = 1_000;

/** Whether this machine lets us mount a file system of our own; it is gone afterwards. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'instep-mount-'));
  try {
    mount(folder);
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const CHUNK = Buffer.alloc(64 * 1_024);

/** Writes into a file until nothing more fits. */
function fill(path: string): void {
  for (;;) {
    try {
      appendFileSync(path, CHUNK);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'instep', folder], {
    stdio: 'ignore',
  });
}

export const fullDisk: Scenario = {
  fault: 'the disk of PostgreSQL is full, and has space again',
  promise: '503 meanwhile, nothing acknowledged is lost, and it goes on by itself',
  times: { short: 1, long: 50 },
  isPossible: canMount,
  async run({ times, onProgress }) {
    const folder = mkdtempSync(join(tmpdir(), 'instep-disk-'));
    mount(folder);
    const cluster = await PostgresCluster.create(folder);
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
    const filler = join(folder, 'filler');
    try {
      for (let done = 1; done <= times; done += 1) {
        await sleep(200);
        fill(filler);
        const before = refusals.length;
        const giveUpAtMs = Date.now() + 20 * FULL_MS;
        while (refusals.length === before && Date.now() < giveUpAtMs) await sleep(20);
        await sleep(FULL_MS);
        rmSync(filler);
        // It ends where it cannot even write what it is about to do.
        if (!cluster.isRunning) await cluster.start();
        const acknowledged = load.acknowledged;
        while (load.acknowledged < acknowledged + 20) await sleep(20);
        onProgress?.(done);
      }
      await load.finish();
      await server.stop();
      const figures = await load.audit(database);
      const others = refusals.filter((reason) => reason !== 503);
      if (others.length > 0) throw new Error(`not answered 503: ${others.join(', ')}`);
      return { 'times full': times, ...figures };
    } finally {
      await database.close();
      await cluster.end('SIGKILL');
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
