import type { Statement } from 'instep-engine/postgres';
import type { Database } from 'instep-engine/src/postgres/database.ts';

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
      run: async <Row extends object>(statement: Statement, timeoutMs: number) => {
        await this.#frozen;
        return await this.#seen(database.run<Row>(statement, timeoutMs));
      },
      transaction: async (work, options) => {
        await this.#frozen;
        return await this.#seen(
          database.transaction((query) => work((...from) => this.#seen(query(...from))), options),
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
