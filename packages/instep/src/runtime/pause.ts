import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export type PauseOptions = {
  /** Ends the pause early. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the process stays alive for the pause; `true` when left out. */
  readonly ref?: boolean | undefined;
};

/** Resolves after `delayMs`, or as soon as the signal is aborted. */
export async function pause(delayMs: number, options: PauseOptions = {}): Promise<void> {
  shareSignal(options.signal);
  // Only the signal can reject a sleep.
  await sleep(delayMs, undefined, options).catch(() => undefined);
}

/** The longest rest, because a step can seem to take hours when its process is frozen. */
const LONGEST_REST_MS = 10_000;

/**
 * Rests after a step of background work that began at `startedAtMs` (by `performance.now`), so that these steps
 * take at most `share` of the time.
 */
export async function rest(
  { startedAtMs, share }: { startedAtMs: number; share: number },
  signal: AbortSignal,
): Promise<void> {
  const tookMs = performance.now() - startedAtMs;
  await pause(Math.min(tookMs / share - tookMs, LONGEST_REST_MS), { signal });
}

/**
 * Many pauses and calls can share one signal. Each removes its listener, so Node's warning of a leak would be
 * wrong.
 */
export function shareSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined) setMaxListeners(0, signal);
}
