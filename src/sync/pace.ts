import { setTimeout as sleep } from 'node:timers/promises';

/** Makes a call when it is its turn. */
export type Pace = <Result>(call: () => Promise<Result>) => Promise<Result>;

/** Lets calls through one after the other, at most one every `intervalMs`. */
export function createPace(intervalMs: number, now: () => number): Pace {
  let nextAtMs = 0;
  return async (call) => {
    const startAtMs = Math.max(now(), nextAtMs);
    nextAtMs = startAtMs + intervalMs;
    await sleep(startAtMs - now());
    return await call();
  };
}
