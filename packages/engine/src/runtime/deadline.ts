// Bounds how long a caller waits.

import { InstepError } from './errors.ts';
import { Stopped, shareSignal } from './retry.ts';

/** Something took longer than allowed. */
export class DeadlineExceeded extends InstepError {
  readonly code = 'DEADLINE_EXCEEDED';

  constructor(deadlineMs: number) {
    super(`not done within ${deadlineMs} ms`);
  }
}

/**
 * The promise's own result, or `DeadlineExceeded` after `deadlineMs`. The work itself continues: for work
 * that can be aborted, use `abortAfter`.
 */
export function withDeadline<Value>(promise: Promise<Value>, deadlineMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineExceeded(deadlineMs)), deadlineMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Does work whose signal is aborted after `deadlineMs`, or together with `signal`.
 *
 * @throws DeadlineExceeded or Stopped, or the error of the work
 */
export async function abortAfter<Value>(
  deadlineMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  // Not `AbortSignal.any`: Node 20 keeps memory for each one as long as a source lives.
  const controller = new AbortController();
  const stop = () => controller.abort(new Stopped());
  const timer = setTimeout(() => controller.abort(new DeadlineExceeded(deadlineMs)), deadlineMs);
  shareSignal(signal);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    controller.signal.throwIfAborted();
    return await work(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
