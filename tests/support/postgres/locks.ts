import type { ApplicationId } from 'instep';
import type { Database } from '../internals/database.ts';

/** Holds the lock that this statement takes, from another session, during the work. */
export async function whileHeld(
  database: Database,
  statement: string,
  work: () => Promise<void>,
): Promise<void> {
  await database.transaction(async (query) => {
    await query(statement);
    await work();
  });
}

/** Waits until this many sessions of the database wait for a lock. */
export async function untilWaiting(database: Database, sessions = 1): Promise<void> {
  const statement = `
    select distinct pid
      from pg_locks
      join pg_stat_activity using (pid)
     where not granted
       and datname = current_database()`;
  while ((await database.query(statement)).length < sessions) await new Promise(setImmediate);
}

export const lockTeam = (teamId: ApplicationId) =>
  `select from teams where id = ${teamId} for update`;
