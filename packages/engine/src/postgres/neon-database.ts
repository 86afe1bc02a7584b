// Neon's driver over HTTP as the engine's database.

import { databaseError } from './errors.ts';
import { ANSWER_MARGIN_MS, LOG_SETTINGS, setSettings } from './session-settings.ts';
import type { Statement, StatementRunner } from './statement.ts';

const OPTIONS = {
  isolationLevel: 'ReadCommitted',
  readOnly: false,
  arrayMode: false,
  fullResults: false,
} as const;

/** What is used of `neon(…)` of `@neondatabase/serverless`. */
export type NeonSql<Query> = {
  query(text: string, values: unknown[]): Query;
  transaction(
    queries: Query[],
    options: typeof OPTIONS & { fetchOptions: { signal: AbortSignal } },
  ): Promise<readonly object[][]>;
};

/** Each statement is a request: a transaction of its own, which bounds its settings. */
export function neonDatabase<Query>(sql: NeonSql<Query>): StatementRunner {
  return {
    async run<Row extends object>({ text, values }: Statement, timeoutMs: number) {
      const limitMs = Math.ceil(timeoutMs);
      const needed = { ...LOG_SETTINGS, statement_timeout: limitMs };
      const settings = sql.query(setSettings(needed, 'local'), []);
      const signal = AbortSignal.timeout(limitMs + ANSWER_MARGIN_MS);
      const sent = [settings, sql.query(text, [...values])];
      const options = { ...OPTIONS, fetchOptions: { signal } };
      const [, rows = []] = await sql.transaction(sent, options).catch((error: unknown) => {
        throw databaseError(error);
      });
      // The statement's text determines the columns.
      return rows as Row[];
    },
  };
}
