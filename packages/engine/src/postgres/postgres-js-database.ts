// The driver `postgres` as the engine's database.

import { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
import { DatabaseBusy, DatabaseUnusable, databaseError } from './errors.ts';
import { type Statement, type StatementRunner, textOf } from './statement.ts';

/** What is used of `postgres(…)`, in its version 3. */
export type PostgresJs = {
  readonly options: { readonly transform: Readonly<Record<'column' | 'value' | 'row', object>> };
  typed(value: string | null, type: number): object;
  unsafe(text: string, values: object[], options: { prepare: boolean }): Promise<object[]>;
};

/** PostgreSQL's type `unknown`: it takes the type that the statement needs, and the driver leaves the text as it is. */
const UNKNOWN = 705;

/**
 * Its connections must have `SESSION_OPTIONS`, and a `statement_timeout` for what is given up after its own time: the
 * driver can't cancel a statement, begin a transaction or reserve a connection without risk (docs/decisions/0033).
 */
export function postgresJsDatabase(sql: PostgresJs): StatementRunner {
  const { column, value, row } = sql.options.transform;
  if ([column, value, row].some((one) => 'from' in one && one.from !== undefined)) {
    throw new DatabaseUnusable('`transform` changes rows: open an instance without it for Instep');
  }
  return {
    async run<Row extends object>({ text, values }: Statement, timeoutMs: number) {
      const parameters = values.map((one) => sql.typed(textOf(one), UNKNOWN));
      try {
        const result = sql.unsafe(text, parameters, { prepare: true });
        // The statement's text determines the columns.
        return (await withDeadline(result, timeoutMs)) as Row[];
      } catch (cause) {
        if (cause instanceof DeadlineExceeded) throw new DatabaseBusy(cause.message, { cause });
        throw databaseError(cause);
      }
    },
  };
}
