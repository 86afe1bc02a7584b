import type { Database } from '../../../src/postgres/database.ts';

/** Another session takes a lock with this statement, and keeps it as long as the work takes. */
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

/** Until so many sessions on this database wait for a lock. */
export async function untilWaiting(database: Database, sessions = 1): Promise<void> {
  const statement = `
    select distinct pid
      from pg_locks
      join pg_stat_activity using (pid)
     where not granted
       and datname = current_database()`;
  while ((await database.query(statement)).length < sessions) await new Promise(setImmediate);
}

export const lockTeam = (teamId: number) => `select from teams where id = ${teamId} for update`;
