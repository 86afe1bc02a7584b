import type { Database } from '../../src/postgres/database.ts';
import { DatabaseBusy, DatabaseConflict, DatabaseUnavailable } from '../../src/postgres/errors.ts';
import type { Random } from '../../src/testing/random.ts';

export type ShakyOptions = {
  /**
   * The probability that a transaction fails before it begins: that the server can't be reached
   * and, once more, that rows are locked.
   */
  readonly outage: number;
  /** The probability that it is committed, and nobody hears of it. */
  readonly lostAnswer: number;
  readonly random: Random;
};

/** A database whose transactions sometimes fail, before they begin or after they are committed. */
export function shakyDatabase(database: Database, options: ShakyOptions): Database {
  const { outage, lostAnswer, random } = options;
  return {
    ...database,
    async transaction(work) {
      if (random.chance(outage)) throw new DatabaseUnavailable('simulated: not reached');
      if (random.chance(outage)) throw new DatabaseBusy('simulated: rows are locked');
      const result = await database.transaction(work);
      if (random.chance(lostAnswer)) throw new DatabaseUnavailable('simulated: answer lost');
      return result;
    },
  };
}

/** Whether the same can succeed a moment later: the endpoint answers 503, and Stripe sends again. */
export function isTemporary(error: unknown): boolean {
  return [DatabaseUnavailable, DatabaseBusy, DatabaseConflict].some(
    (kind) => error instanceof kind,
  );
}
