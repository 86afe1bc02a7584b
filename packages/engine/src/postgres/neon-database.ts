// Neon's driver over HTTP as the engine's database.

import { databaseError } from './errors.ts';
import { LOG_SETTINGS, SESSION_SETTINGS, setSettings } from './session-settings.ts';
import type { Statement, StatementRunner } from './statement.ts';

/** What is used of `neon(…)` of `@neondatabase/serverless`. */
export type NeonSql<Query> = {
  query(text: string, values: unknown[]): Query;
  transaction(
    queries: Query[],
    options: {
      isolationLevel: 'ReadCommitted';
      readOnly: false;
      arrayMode: false;
      fullResults: false;
      fetchOptions: { signal: AbortSignal };
    },
  ): Promise<readonly object[][]>;
};

/** The server's own timeout comes first. This one is for a server that does not answer. */
const ANSWER_MARGIN_MS = 500;

/** Each statement is a request: a transaction of its own, which bounds its settings. */
export function neonDatabase<Query>(sql: NeonSql<Query>): StatementRunner {
  return {
    async run<Row extends object>({ text, values }: Statement, timeoutMs: number) {
      const limitMs = Math.ceil(timeoutMs);
      const needed = { ...SESSION_SETTINGS, ...LOG_SETTINGS, statement_timeout: limitMs };
      const settings = sql.query(setSettings(needed, 'local'), []);
      try {
        const [, rows = []] = await sql.transaction([settings, sql.query(text, [...values])], {
          ...{
            isolationLevel: 'ReadCommitted',
            readOnly: false,
            arrayMode: false,
            fullResults: false,
          },
          fetchOptions: { signal: AbortSignal.timeout(limitMs + ANSWER_MARGIN_MS) },
        });
        // The statement's text determines the columns.
        return rows as Row[];
      } catch (error) {
        throw databaseError(error);
      }
    },
  };
}
