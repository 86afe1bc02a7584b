import type { Database } from 'instep/src/postgres/database.ts';

/**
 * A process that can freeze, as when its machine is paused: what it sent is under way, but it sees no result
 * and starts nothing until it continues.
 */
export class FreezableProcess {
  #frozen: Promise<void> | null = null;

  /** Freezes the process until the returned function is called. */
  freeze(): () => void {
    let goOn: () => void = () => undefined;
    this.#frozen = new Promise((resolve) => {
      goOn = () => {
        this.#frozen = null;
        resolve();
      };
    });
    return goOn;
  }

  /** A function whose calls the process makes: none starts, and none returns, while it is frozen. */
  whenAwake<From extends readonly unknown[], Result>(
    call: (...from: From) => Promise<Result>,
  ): (...from: From) => Promise<Result> {
    return async (...from) => {
      await this.#frozen;
      return await this.#seen(call(...from));
    };
  }

  /** The database as the process uses it. */
  uses(database: Database): Database {
    return {
      ...database,
      query: async (...from) => {
        await this.#frozen;
        return await this.#seen(database.query(...from));
      },
      transaction: async (work) => {
        await this.#frozen;
        // Statements of one turn are sent together: only their results wait.
        return await this.#seen(
          database.transaction((query, atCommit) =>
            work((...from) => this.#seen(query(...from)), atCommit),
          ),
        );
      },
    };
  }

  async #seen<Result>(result: Promise<Result>): Promise<Result> {
    try {
      return await result;
    } finally {
      await this.#frozen;
    }
  }
}
