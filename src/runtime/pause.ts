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

/**
 * Many pauses and calls can share one signal. Each removes its listener, so Node's warning of a leak would be
 * wrong.
 */
export function shareSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined) setMaxListeners(0, signal);
}
