import { DatabaseUnavailable } from 'instep-engine/postgres';
import type { Database, Query } from '../support/internals/database.ts';

/** The point at which a process dies: before or after its n-th await of an outside operation. */
export type CrashPoint = { readonly at: number; readonly side: 'before' | 'after' };

/** A process that dies at one point, and from then on does nothing. */
export class CrashPlan {
  readonly #point: CrashPoint;
  #awaits = 0;
  isOver = false;

  constructor(point: CrashPoint) {
    this.#point = point;
  }

  /** Runs an outside operation if the process is still alive. */
  async outside<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#dieIf(this.isOver);
    this.#awaits += 1;
    const isHere = this.#awaits === this.#point.at;
    this.#dieIf(isHere && this.#point.side === 'before');
    const result = await work();
    this.#dieIf(isHere || this.isOver);
    return result;
  }

  /** The database as this process sees it. Uncommitted work is rolled back when the process dies. */
  database(database: Database): Database {
    const through =
      (query: Query): Query =>
      (statement, values) =>
        this.outside(() => query(statement, values));
    return {
      ...database,
      query: through(database.query),
      run: (statement, timeoutMs) => this.outside(() => database.run(statement, timeoutMs)),
      transaction: (work, options) =>
        this.outside(() =>
          database.transaction(async (query) => {
            const result = await work(through(query));
            // Between the last statement and the commit.
            return await this.outside(async () => result);
          }, options),
        ),
    };
  }

  #dieIf(isSo: boolean): void {
    if (!isSo) return;
    this.isOver = true;
    throw new DatabaseUnavailable('the process is dead');
  }
}
