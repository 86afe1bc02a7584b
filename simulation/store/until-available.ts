import { DatabaseBusy, DatabaseConflict, DatabaseUnavailable } from '../../src/postgres/errors.ts';

/** Whether the work can succeed later: the endpoint answers 503, and Stripe sends the event again. */
export function isTemporary(error: unknown): boolean {
  return [DatabaseUnavailable, DatabaseBusy, DatabaseConflict].some(
    (kind) => error instanceof kind,
  );
}

/** Repeats work until it doesn't fail temporarily. */
export async function untilAvailable<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error)) throw error;
    }
  }
}
