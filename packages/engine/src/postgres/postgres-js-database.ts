// The driver `postgres` as the engine's database.

import { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
import { DatabaseBusy, DatabaseUnusable, databaseError } from './errors.ts';
import { LOG_SETTINGS, SESSION_SETTINGS } from './session-settings.ts';
import type { Statement, StatementRunner } from './statement.ts';

/** What is used of `postgres(…)`, in its version 3. */
export type PostgresJs = {
  readonly options: { readonly transform: Readonly<Record<'column' | 'value' | 'row', object>> };
  typed(value: string | null, type: number): object;
  unsafe(text: string, values: object[], options: { prepare: boolean }): Promise<object[]>;
};

/**
 * The settings that the engine's statements rely on, for the `options` of a connection, whatever the database or the role
 * sets.
 */
export const SESSION_OPTIONS = Object.entries({
  ...SESSION_SETTINGS,
  ...LOG_SETTINGS,
  default_transaction_read_only: 'off',
  synchronous_commit: 'on',
})
  .map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', '\\ ')}`)
  .join(' ');

/**
 * Its connections must have `SESSION_OPTIONS`, and a `statement_timeout` for what is given up after its own time: the
 * driver can't cancel a statement, begin a transaction or reserve a connection without risk (docs/decisions/0033).
 */
export function postgresJsDatabase(sql: PostgresJs): StatementRunner {
  const { column, value, row } = sql.options.transform;
  if ([column, value, row].some(changesRows)) throw new DatabaseUnusable(TRANSFORMED);
  return {
    async run<Row extends object>({ text, values }: Statement, timeoutMs: number) {
      const parameters = values.map((one) => sql.typed(textOf(one), UNKNOWN));
      const result = sql.unsafe(text, parameters, { prepare: true });
      try {
        // The statement's text determines the columns.
        return (await withDeadline(result, timeoutMs)) as Row[];
      } catch (cause) {
        if (cause instanceof DeadlineExceeded) throw new DatabaseBusy(cause.message, { cause });
        throw databaseError(cause);
      }
    },
  };
}

const changesRows = (transform: object) => 'from' in transform && transform.from !== undefined;

const TRANSFORMED =
  'the option `transform` of `postgres` changes the rows of every statement: open one without it for Instep';

/** PostgreSQL's type `unknown`: it takes the type that the statement needs, and the driver leaves the text as it is. */
const UNKNOWN = 705;

/** A value as PostgreSQL reads it. The driver would write JSON that is text already as JSON again. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (!Array.isArray(value)) return String(value);
  const elements = value.map((element) => {
    const text = textOf(element);
    return text === null ? 'null' : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}
