import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/postgres/database.ts';
import { type Attempt, addSignedIn, readProfile } from '../honest.ts';

const PAUSE_MS = 20;

export type ProfileReader = {
  /** Asks for nothing more; what became of all that was asked. */
  finish(): Promise<readonly Attempt[]>;
};

/** A user who reads a profile again and again, until told to finish. */
export async function startProfileReader(database: Database, url: string): Promise<ProfileReader> {
  const { id, cookie } = await addSignedIn(database);
  const attempts: Attempt[] = [];
  let isOver = false;

  async function read(): Promise<void> {
    while (!isOver) {
      const beganAtMs = performance.now();
      const answer = await readProfile(url, cookie, id);
      const tookMs = performance.now() - beganAtMs;
      attempts.push({ what: 'profile', beganAtMs, tookMs, answer });
      await sleep(PAUSE_MS);
    }
  }

  const reading = read();
  // Whoever waits for the end hears of it.
  reading.catch(() => undefined);
  return {
    async finish() {
      isOver = true;
      await reading;
      return attempts;
    },
  };
}
