import type { LoggedOutcome } from '../core/logged-event.ts';
import type { Query } from '../postgres/database.ts';
import { DELAY_BUCKET } from './delay-buckets.ts';
import type { SlotSeconds } from './write-statistics.ts';

/** How many events of a slot of time had this outcome and this delay. */
export type StatisticsRow = {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly delayBucket: number;
  readonly count: number;
};

export type Statistics = {
  readonly figures: readonly StatisticsRow[];
  /** Whether all of it is there; otherwise the keeper is still summing the log. */
  readonly isWhole: boolean;
};

/** So many events are counted on the spot at most. The keeper sums more than that in a moment. */
const MOST_COUNTED = 50_000;

type FigureRow =
  | { starts_at_ms: number; outcome: LoggedOutcome; delay_bucket: number; count: number }
  /** There is none. */
  | { starts_at_ms: null };

/** What came since a time: the sums, and of the log itself what is not in them yet. */
export async function readStatistics(
  query: Query,
  { slotSeconds, sinceMs }: { readonly slotSeconds: SlotSeconds; readonly sinceMs: number },
): Promise<Statistics> {
  // One statement, so that nothing is summed between the one and the other.
  const rows = await query<FigureRow & { is_whole: boolean }>(
    `with progress as materialized (
       select coalesce(max(up_to_position), 0) as up_to,
              coalesce(max(after_position), 0) as after
         from instep.statistics_progress
     ), newest as materialized (
       select date_bin($1 * interval '1 second', received_at, 'epoch') as starts_at,
              received_at,
              outcome,
              ${DELAY_BUCKET} as delay_bucket
         from instep.events
        where position > (select up_to from progress)
        order by position desc
        limit ${MOST_COUNTED}
     ), figure as (
       select starts_at, outcome, delay_bucket, count
         from instep.statistics
        where slot_seconds = $1
          and starts_at >= $2
        union all
       select starts_at, outcome, delay_bucket, count(*)
         from newest
        where starts_at >= $2
        group by starts_at, outcome, delay_bucket
     ), whole as (
       select after = 0 and (select count(*) from newest) < ${MOST_COUNTED} as is_whole
         from progress
     )
     select (date_part('epoch', starts_at) * 1000)::bigint as starts_at_ms,
            outcome,
            delay_bucket,
            sum(count)::bigint as count,
            is_whole
       from whole
       left join figure on true
      group by starts_at, outcome, delay_bucket, is_whole
     having sum(count) is null
         or sum(count) > 0
      order by starts_at`,
    [slotSeconds, new Date(sinceMs)],
  );
  return {
    figures: rows.flatMap((row): StatisticsRow[] => {
      if (row.starts_at_ms === null) return [];
      const { starts_at_ms: startsAtMs, outcome, delay_bucket: delayBucket, count } = row;
      return [{ startsAtMs, outcome, delayBucket, count }];
    }),
    isWhole: rows[0]?.is_whole ?? true,
  };
}
