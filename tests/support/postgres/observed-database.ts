import { DatabaseConflict } from 'instep-engine/postgres';
import type { Database, Query } from '../internals/database.ts';

/** The database of an instance for which this happens after the first read of its log, before it decides and writes. */
export function withMeanwhile(database: Database, meanwhile: () => Promise<unknown>): Database {
  let hasRead = false;
  return {
    ...database,
    async run(statement, timeoutMs) {
      const rows = await database.run(statement, timeoutMs);
      if (!hasRead) {
        hasRead = true;
        await meanwhile();
      }
      // The same type of rows, which a function in an object can't name.
      return rows as never;
    },
  };
}

/** A database that counts its statements and transactions, and those of them that had to be repeated. */
export function counting(database: Database) {
  const counts = { statements: 0, transactions: 0, conflicts: 0 };
  const counted: Database = {
    ...database,
    async run(statement, timeoutMs) {
      counts.statements += 1;
      try {
        return await database.run(statement, timeoutMs);
      } catch (error) {
        if (error instanceof DatabaseConflict) counts.conflicts += 1;
        throw error;
      }
    },
    async transaction(work, options) {
      counts.transactions += 1;
      let attempts = 0;
      return await database.transaction((query: Query) => {
        attempts += 1;
        if (attempts > 1) counts.conflicts += 1;
        return work(query);
      }, options);
    },
  };
  return { database: counted, counts };
}
