import type { Query } from '../postgres/database.ts';

/**
 * The transactions that write into the log at this moment. A position is given out before its event
 * is committed, and never without this lock: so when those that hold it now have ended, every event
 * is there whose position is smaller than one that is there already.
 */
export async function readLogWriters(query: Query): Promise<string[]> {
  const rows = await query<{ transaction: string }>(
    `select virtualtransaction as transaction
       from pg_locks
      where relation = 'instep.events'::regclass
        and database = (select oid from pg_database where datname = current_database())
        and mode = 'RowExclusiveLock'
        and granted`,
  );
  return rows.map(({ transaction }) => transaction);
}
