import { startInstep } from '../../support/instep-process.ts';
import { createDatabase } from '../../support/test-database.ts';
import { startLoad } from '../load.ts';
import { canTellUse, useOf } from '../process-use.ts';
import type { Scenario } from '../scenario.ts';

const SENDERS = 32;
/** What a warm server may take more than one that has just begun: its caches, its compiled code. */
const MAX_GROWTH_MB = 100;
/** Connections come and go; a leak would be one for each of many events. */
const MAX_MORE_FILES = 64;

export const soak: Scenario = {
  fault: 'so many events, one after the other',
  promise: 'open files and memory stay as they are',
  times: { short: 2_000, long: 1_000_000 },
  isPossible: canTellUse,
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const load = await startLoad(database, { url: () => server.url, senders: SENDERS });
    const { pid = 0 } = server.process;
    await untilAcknowledged(times / 10);
    const before = useOf(pid);
    await untilAcknowledged(times);
    const after = useOf(pid);
    await load.finish();
    await server.stop();
    const figures = await load.audit(database);
    await database.close();
    const { files, megabytes } = after;
    if (files > before.files + MAX_MORE_FILES) {
      throw new Error(`${before.files} open files have become ${files}`);
    }
    if (megabytes > before.megabytes + MAX_GROWTH_MB) {
      throw new Error(`${before.megabytes} MB have become ${megabytes}`);
    }
    return { 'MB resident': megabytes, 'open files': files, ...figures };

    async function untilAcknowledged(count: number): Promise<void> {
      while (load.acknowledged < count) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        onProgress?.(Math.min(load.acknowledged, times));
      }
    }
  },
};
