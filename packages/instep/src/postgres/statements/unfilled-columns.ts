import type { Query } from '../database.ts';
import { DatabaseRefused, sqlState } from '../errors.ts';
import { type ApplicationTables, literal, regclass } from '../tables/application-tables.ts';

const NOT_NULL_VIOLATION = '23502';

/** A table and the columns that our insert fills, all quoted. */
type Insert = { table: string; filled: readonly string[] };

const READ_UNFILLED_COLUMNS = ({ table, filled }: Insert) => `
      select string_agg(quote_ident(attname), ', ' order by attnum) as columns
        from pg_attribute
       where attrelid = ${regclass(table)}
         and attnum > 0
         and not attisdropped
         and attnotnull
         and not atthasdef
         and attidentity = ''
         and quote_ident(attname) not in (${filled.map(literal).join(', ')})`;

/**
 * The error of an insert into a table of the application. PostgreSQL names only one of the columns that
 * require a value; this error names all of them.
 */
export async function insertError(
  query: Query,
  error: unknown,
  insertOf: (tables: ApplicationTables) => Insert,
): Promise<unknown> {
  if (!(error instanceof DatabaseRefused)) return error;
  if (sqlState(error.cause) !== NOT_NULL_VIOLATION) return error;
  const [row] = await query<{ columns: string | null }>({
    name: 'read_unfilled_columns',
    text: (tables) => READ_UNFILLED_COLUMNS(insertOf(tables)),
  });
  if (row === undefined || row.columns === null) return error;
  const reason = `the table has required columns that only your app can fill: ${row.columns}`;
  return new DatabaseRefused(`${reason}; add the row with your app, or give them defaults`, {
    cause: error.cause,
  });
}
