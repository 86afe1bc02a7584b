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
  // The only reason for which a sleep is rejected is its signal.
  await sleep(delayMs, undefined, options).catch(() => undefined);
}

/** One signal ends many pauses and calls. Each removes its listener, so Node's warning of a leak is wrong. */
export function shareSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined) setMaxListeners(0, signal);
}
