import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { underLoad } from '../loaded-cluster.ts';
import { type Scenario, turnsOf } from '../scenario.ts';
import { canMount, SmallDisk } from '../small-disk.ts';

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
