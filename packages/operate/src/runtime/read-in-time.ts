import { type Database, DatabaseBusy, type NamedStatement } from 'instep-engine/postgres';

/** Runs a statement that counts; `null` if there are too many rows to count them in this time, or a lock takes as long. */
export async function readInTime<Row extends object>(
  database: Pick<Database, 'transaction'>,
  statement: NamedStatement,
  timeoutMs: number,
): Promise<Row[] | null> {
  try {
    return await database.transaction((query) => query<Row>(statement), { timeoutMs });
  } catch (error) {
    if (error instanceof DatabaseBusy) return null;
    throw error;
  }
}
