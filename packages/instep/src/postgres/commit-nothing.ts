import type { Database } from './database.ts';

/**
 * Commits an empty record to the write-ahead log, which waits for the disk and for a synchronous standby like
 * an event does. It takes no lock and leaves no row.
 */
export async function commitNothing(database: Database): Promise<void> {
  await database.transaction((query) =>
    query({
      name: 'commit_nothing',
      text: `select pg_logical_emit_message(true, 'instep', '')`,
    }),
  );
}
