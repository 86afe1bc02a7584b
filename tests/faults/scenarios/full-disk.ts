import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { underLoad } from '../loaded-cluster.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const FULL_MS = 1_000;

export const fullDisk: Scenario = {
  fault: 'the disk of an external PostgreSQL fills up, and space is freed again',
  promise:
    'requests get a 503 until there is space; service resumes by itself; nothing acknowledged ' +
    'is lost',
  times: { short: 1, long: 50 },
  isPossible: canMount,
  async run(options) {
    const disk = new SmallDisk();
    onTestFinished(() => disk.remove());
    const figures = await underLoad(
      { home: disk.folder, senders: 2 },
      async ({ cluster, load }) => {
        for (const _ of turnsOf(options)) {
          await sleep(200);
          disk.fill();
          // Space that PostgreSQL has already allocated can last for a while.
          await load.untilRefused();
          await sleep(FULL_MS);
          disk.free();
          // PostgreSQL stops when it has no space for its write-ahead log.
          if (!cluster.isRunning) await cluster.start();
          await load.untilMore(20);
        }
      },
    );
    return { 'times full': options.times, ...figures };
  },
};

const SIZE = '256m';
const CHUNK = Buffer.alloc(64 * 1_024);

/** A file system in memory that a test can fill to the last byte. */
class SmallDisk {
  readonly folder: string;
  readonly #filler: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'instep-disk-'));
    this.#filler = join(this.folder, 'filler');
    const options = ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'instep', this.folder];
    try {
      execFileSync('mount', options, { stdio: 'ignore' });
    } catch (error) {
      rmSync(this.folder, { recursive: true });
      throw error;
    }
    chmodSync(this.folder, 0o755);
  }

  /** Leaves no space for anything else. */
  fill(): void {
    for (;;) {
      try {
        appendFileSync(this.#filler, CHUNK);
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
        throw error;
      }
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  remove(): void {
    execFileSync('umount', ['-l', this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Whether this machine allows mounting one. */
function canMount(): boolean {
  try {
    new SmallDisk().remove();
    return true;
  } catch {
    return false;
  }
}
