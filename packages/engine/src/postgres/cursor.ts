// Reads many rows in a transaction: in one pass, without an index, and with only a part of them in memory.

import type { Query } from './statement.ts';

const ROWS_AT_ONCE = 2_000;

/** The rows of a statement that has no parameters. */
export async function* readThroughCursor<Row extends object>(
  query: Query,
  sql: string,
): AsyncGenerator<Row> {
  await query(`declare instep_rows no scroll cursor for ${sql}`);
  for (;;) {
    const rows = await query<Row>(`fetch ${ROWS_AT_ONCE} from instep_rows`);
    if (rows.length === 0) break;
    yield* rows;
  }
  await query('close instep_rows');
}
