import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseBusy, DatabaseConflict, DatabaseUnavailable } from 'instep-engine/postgres';
import { DeadlineExceeded } from 'instep-engine/runtime';

/** Whether the work can succeed later: the endpoint answers 503, and Stripe sends the event again. */
export function isTemporary(error: unknown): boolean {
  return [DatabaseUnavailable, DatabaseBusy, DatabaseConflict, DeadlineExceeded].some(
    (kind) => error instanceof kind,
  );
}

const RETRY_AFTER_MS = 10;

/** Repeats work until it doesn't fail temporarily. */
export async function untilAvailable<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error)) throw error;
    }
    await sleep(RETRY_AFTER_MS);
  }
}
