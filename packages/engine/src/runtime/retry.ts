// Pauses, and calls that are repeated after one.

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { InstepError } from './errors.ts';

export type PauseOptions = {
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

/** Work was stopped on request before it was done. Its results until then stay. */
export class Stopped extends InstepError {
  readonly code = 'STOPPED';

  constructor() {
    super('stopped before it was done');
  }
}

export type RetryPolicy = PauseOptions & {
  readonly isRetryable: (error: unknown) => boolean;
  /** The maximum number of calls; unlimited by default. */
  readonly maxCalls?: number;
  /** Each pause is twice as long as the one before, up to the longest. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** The pause that a failure itself requests; `null` when it requests none. */
  readonly retryAfterMs?: (error: unknown) => number | null;
  readonly onRetry?: (error: unknown, pauseMs: number) => void;
};

/**
 * Repeats a call as long as its failure is retryable.
 *
 * @throws Stopped once the signal is aborted; otherwise the error of the last call
 */
export async function retry<Result>(
  call: () => Promise<Result>,
  policy: RetryPolicy,
): Promise<Result> {
  const { isRetryable, maxCalls = Number.POSITIVE_INFINITY, longestPauseMs, signal } = policy;
  let nextPauseMs = policy.firstPauseMs;
  for (let calls = 1; ; calls += 1) {
    if (signal?.aborted) throw new Stopped();
    try {
      return await call();
    } catch (error) {
      if (signal?.aborted) throw new Stopped();
      if (calls >= maxCalls || !isRetryable(error)) throw error;
      const pauseMs = Math.min(policy.retryAfterMs?.(error) ?? nextPauseMs, longestPauseMs);
      policy.onRetry?.(error, pauseMs);
      if (pauseMs > 0) await pause(pauseMs, policy);
    }
    nextPauseMs = Math.min(nextPauseMs * 2, longestPauseMs);
  }
}
