import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask } from '../database/bench-postgres.ts';

const POLL_MS = 200;
const DEADLINE_MS = 20 * 60_000;

/**
 * Waits until a running server has completed the statistics of the log, which is the last work of its
 * start. Prints and returns the seconds that it took; `null` when they were complete before.
 */
export async function untilStatisticsComplete(
  ask: Ask,
  print: (text: string) => void,
): Promise<number | null> {
  const beganAtMs = performance.now();
  for (let polls = 0; performance.now() - beganAtMs < DEADLINE_MS; polls += 1) {
    const [progress] = await ask<{ is_whole: boolean }>(
      `select after_position = 0
                and up_to_position = (select max(position) from instep.events)
                and exists (select from instep.statistics) as is_whole
         from instep.statistics_progress`,
    );
    if (progress?.is_whole === true) {
      if (polls === 0) return null;
      const seconds = (performance.now() - beganAtMs) / 1_000;
      print(`statistics complete after ${Math.round(seconds)} s`);
      return seconds;
    }
    await sleep(POLL_MS);
  }
  throw new Error('the statistics were not complete in time');
}
