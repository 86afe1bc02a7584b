import type { Query } from '../postgres/database.ts';

/**
 * Takes the turn of a job that reads all teams: one instance at a time, 3 seconds or more after the last
 * turn. The application's table can be large and without an index, so reading it takes up to 2 % of the time.
 * Returns whether it is this instance's turn.
 */
export async function takeTurn(query: Query, job: string): Promise<boolean> {
  const rows = await query({
    name: 'take_turn',
    text: `
      update instep.leased_jobs
         set started_at = now()
       where name = $1
         and (started_at is null
              or started_at < now() - interval '3 seconds'
                 and started_at < now() - coalesce((ended_at - started_at) * 50, '0'))
      returning name`,
    values: [job],
  });
  return rows.length > 0;
}

/** Records the end of a turn. A turn that fails earlier counts as a short one. */
export async function endTurn(query: Query, job: string): Promise<void> {
  await query({
    name: 'end_turn',
    text: `
      update instep.leased_jobs
         set ended_at = clock_timestamp()
       where name = $1`,
    values: [job],
  });
}
