import type { Database, Query } from '../../src/postgres/database.ts';
import { DatabaseUnavailable } from '../../src/postgres/errors.ts';

/** Where a process dies: at its n-th await of something outside, before that is done or after. */
export type CrashPoint = { readonly at: number; readonly side: 'before' | 'after' };

/** A process that dies at one point: from then on nothing of it does anything any more. */
export class CrashPlan {
  readonly #point: CrashPoint;
  #awaits = 0;
  isOver = false;

  constructor(point: CrashPoint) {
    this.#point = point;
  }

  /** Does something outside, as long as the process lives. */
  async outside<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#dieIf(this.isOver);
    this.#awaits += 1;
    const isHere = this.#awaits === this.#point.at;
    this.#dieIf(isHere && this.#point.side === 'before');
    const result = await work();
    this.#dieIf(isHere || this.isOver);
    return result;
  }

  /** The database as this process reaches it. What it had not committed is undone when it dies. */
  database(database: Database): Database {
    const through =
      (query: Query): Query =>
      (statement, values) =>
        this.outside(() => query(statement, values));
    return {
      ...database,
      query: through(database.query),
      transaction: (work) =>
        this.outside(() =>
          database.transaction(async (query, atCommit) => {
            const result = await work(through(query), atCommit);
            // Between the last statement and the commit.
            return await this.outside(async () => result);
          }),
        ),
    };
  }

  #dieIf(isSo: boolean): void {
    if (!isSo) return;
    this.isOver = true;
    throw new DatabaseUnavailable('the process is dead');
  }
}
