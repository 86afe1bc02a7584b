import type { Query } from '../postgres/database.ts';

/**
 * Does the work of a job that reads all teams, if it is this instance's turn: one instance at a time, 3 seconds
 * or more after the last turn. The application's table can be large and without an index, so reading it takes
 * up to 2% of the time. Work that fails counts as short. Returns `null` when it is another instance's turn. A turn
 * more than a minute ahead is ignored, because the server's clock has been set back since.
 */
export async function inTurn<Result>(
  query: Query,
  job: string,
  work: () => Promise<Result>,
): Promise<Result | null> {
  const taken = await query({
    name: 'take_turn',
    text: `
      update instep.leased_jobs
         set started_at = now()
       where name = $1
         and (started_at is null
              or started_at > now() + interval '1 minute'
              or started_at < now() - interval '3 seconds'
                 and started_at < now() - coalesce((ended_at - started_at) * 50, '0'))
      returning name`,
    values: [job],
  });
  if (taken.length === 0) return null;
  const result = await work();
  await query({
    name: 'end_turn',
    text: `
      update instep.leased_jobs
         set ended_at = clock_timestamp()
       where name = $1`,
    values: [job],
  });
  return result;
}

/** 10 calls a second, a fraction of what Stripe allows. */
const CALL_INTERVAL = "interval '100 milliseconds'";

/**
 * Schedules a call to Stripe's API after all calls scheduled so far. Returns the milliseconds until then. A
 * call scheduled more than a minute ahead is ignored, because the server's clock has been set back since.
 */
export async function scheduleCall(query: Query): Promise<number> {
  const [row] = await query<{ waitMs: number }>({
    name: 'schedule_call',
    text: `
      insert into instep.leased_jobs as last (name, started_at)
      values ('stripe-call', clock_timestamp())
          on conflict (name) do update
         set started_at = case
               when last.started_at > clock_timestamp() + interval '1 minute' then clock_timestamp()
               else greatest(last.started_at + ${CALL_INTERVAL}, clock_timestamp())
             end
      returning greatest(0, extract(epoch from started_at - clock_timestamp()) * 1000)::integer
                as "waitMs"`,
  });
  if (row === undefined) throw new RangeError('an upsert has one row');
  return row.waitMs;
}
