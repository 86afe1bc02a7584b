import type { LoggedOutcome } from '../core/logged-event.ts';
import type { Query } from '../postgres/database.ts';
import { DELAY_BUCKET } from './delay-buckets.ts';
import type { SlotSeconds } from './write-statistics.ts';

/** The number of events in a time slot with this outcome and this delay. */
export type StatisticsRow = {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly delayBucket: number;
  readonly count: number;
};

type Statistics = {
  readonly rows: readonly StatisticsRow[];
  /** Whether they are complete; otherwise maintenance is still summing the log. */
  readonly isComplete: boolean;
};

/** The maximum number of events that are counted directly. Maintenance soon sums any others. */
const MOST_COUNTED = 50_000;

/** The events since a time: the sums, and the logged events that are not yet in them. */
export async function readStatistics(
  query: Query,
  { slotSeconds, sinceMs }: { readonly slotSeconds: SlotSeconds; readonly sinceMs: number },
): Promise<Statistics> {
  type Row = { isComplete: boolean } & (StatisticsRow | { startsAtMs: null });
  const rows = await query<Row>({
    name: 'read_statistics',
    // One statement, so that both halves show the same moment.
    text: `
      with progress as materialized (
        select coalesce(max((progress ->> 'upTo')::bigint), 0) as up_to,
               coalesce(max((progress ->> 'after')::bigint), 0) as after
          from instep.leased_jobs
         where name = 'statistics'
      ), newest as materialized (
        select date_bin($1 * interval '1 second', received_at, 'epoch') as starts_at,
               received_at,
               outcome,
               ${DELAY_BUCKET} as delay_bucket
          from instep.events
         where position > (select up_to from progress)
         order by position desc
         limit ${MOST_COUNTED}
      ), counted as (
        select starts_at, outcome, delay_bucket, count
          from instep.statistics
         where slot_seconds = $1
           and starts_at >= $2
         union all
        select starts_at, outcome, delay_bucket, count(*)
          from newest
         where starts_at >= $2
         group by starts_at, outcome, delay_bucket
      ), completeness as (
        select after = 0 and (select count(*) from newest) < ${MOST_COUNTED} as is_complete
          from progress
      )
      select (date_part('epoch', starts_at) * 1000)::bigint as "startsAtMs",
             outcome,
             delay_bucket as "delayBucket",
             sum(count)::bigint as count,
             is_complete as "isComplete"
        from completeness
        left join counted on true
       group by starts_at, outcome, delay_bucket, is_complete
      having sum(count) is null
          or sum(count) > 0
       order by starts_at`,
    values: [slotSeconds, new Date(sinceMs)],
  });
  return {
    rows: rows.flatMap(({ isComplete: _, ...row }) => (row.startsAtMs === null ? [] : [row])),
    isComplete: rows[0]?.isComplete ?? true,
  };
}
