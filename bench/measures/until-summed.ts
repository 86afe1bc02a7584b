import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask } from '../database/bench-postgres.ts';

const LOOK_AGAIN_MS = 200;
const DEADLINE_MS = 20 * 60_000;

/**
 * Waits until a server that runs has summed the log, since what else it does at first is over then.
 * Tells and returns how many seconds that took; `null`, untold, when it had been done before.
 */
export async function untilSummed(ask: Ask, tell: (text: string) => void): Promise<number | null> {
  const beganAtMs = performance.now();
  for (let looks = 0; performance.now() - beganAtMs < DEADLINE_MS; looks += 1) {
    const [progress] = await ask<{ is_whole: boolean }>(
      `select after_position = 0
                and up_to_position = (select max(position) from instep.events)
                and exists (select from instep.statistics) as is_whole
         from instep.statistics_progress`,
    );
    if (progress?.is_whole === true) {
      if (looks === 0) return null;
      const seconds = (performance.now() - beganAtMs) / 1_000;
      tell(`summed after ${Math.round(seconds)} s`);
      return seconds;
    }
    await sleep(LOOK_AGAIN_MS);
  }
  throw new Error('the log was not summed in time');
}
