import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../support/internals/database.ts';
import { type Attempt, addSignedIn, readProfile } from '../regular-traffic.ts';

const PAUSE_MS = 20;

type ProfileReader = {
  /** Stops, and returns the results of all requests. */
  finish(): Promise<readonly Attempt[]>;
};

/** Starts a user who reads a profile in a loop. */
export async function startProfileReader(database: Database, url: string): Promise<ProfileReader> {
  const { id, cookie } = await addSignedIn(database);
  const attempts: Attempt[] = [];
  let isOver = false;

  async function read(): Promise<void> {
    while (!isOver) {
      const startedAtMs = performance.now();
      const answer = await readProfile(url, cookie, id);
      const tookMs = performance.now() - startedAtMs;
      attempts.push({ what: 'profile', startedAtMs, tookMs, answer });
      await sleep(PAUSE_MS);
    }
  }

  const reading = read();
  // The caller that awaits `done` gets the error.
  reading.catch(() => undefined);
  return {
    async finish() {
      isOver = true;
      await reading;
      return attempts;
    },
  };
}
