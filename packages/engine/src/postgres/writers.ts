// Hides that ids are assigned before they are committed: readers of a table in the order of its ids wait here.

import { pause } from '../runtime/retry.ts';
import type { Query } from './database.ts';

const PAUSE_MS = 20;
const DEADLINE_MS = 5_000;

/** The tables whose rows get an id or a position before they are committed. */
type Table = 'instep.events' | 'instep.plan_changes';

/** The transactions that write to a table now. Each has this lock before it takes an id, and until others see its rows. */
async function readWriters(query: Query, table: Table): Promise<ReadonlySet<string>> {
  const rows = await query<{ writer: string }>({
    name: 'read_writers',
    text: `
      select virtualtransaction as writer
        from pg_locks
       where locktype = 'relation'
         and database = (select oid from pg_database where datname = current_database())
         and relation = $1::regclass
         and mode = 'RowExclusiveLock'
         and granted`,
    values: [table],
  });
  return new Set(rows.map(({ writer }) => writer));
}

/**
 * Waits until the transactions have ended that write to a table now. The rows up to the newest one that was visible
 * before are then visible too, although a transaction can commit after one with a higher id. False when it takes longer
 * than 5 seconds, or the signal is aborted.
 */
export async function writersHaveEnded(
  query: Query,
  table: Table,
  signal?: AbortSignal,
): Promise<boolean> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  let open = [...(await readWriters(query, table))];
  while (open.length > 0) {
    await pause(PAUSE_MS, { signal });
    if (signal?.aborted || performance.now() > deadlineMs) return false;
    const current = await readWriters(query, table);
    open = open.filter((writer) => current.has(writer));
  }
  return true;
}
