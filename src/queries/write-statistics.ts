import type { Query } from '../postgres/database.ts';
import { DELAY_BUCKET } from './delay-buckets.ts';
import type { PositionRange } from './search-events.ts';

/** Into slots of these lengths the log is summed. */
export const SLOTS_SECONDS = [60, 900, 7_200] as const;

export type SlotSeconds = (typeof SLOTS_SECONDS)[number];

/** So many slots of each length are kept: two hours, a day and a third, ten days. */
const KEPT_SLOTS = 128;

const LONGEST_KEPT_MS = Math.max(...SLOTS_SECONDS) * KEPT_SLOTS * 1_000;

/** Which stretch of the log is in the sums; `null` until the first sum. */
export type StatisticsProgress = { readonly summed: PositionRange | null };

/**
 * Locks the sums until the transaction ends, and says what is in them. `null` when another instance
 * is at it, or when there was nothing to lock yet.
 */
export async function lockStatistics(
  query: Query,
  nowMs: number,
): Promise<StatisticsProgress | null> {
  const [row] = await query<{ after: number | null; upTo: number | null; is_lost: boolean }>(
    // Whoever loses the sums has them made anew. They are also empty when nothing came for long.
    `select after_position as after,
            up_to_position as "upTo",
            not exists (select from instep.statistics)
              and exists (
                    select
                      from (
                             select received_at
                               from instep.events
                              order by position desc
                              limit 1
                           ) as newest
                     where received_at >= $1
                  ) as is_lost
       from instep.statistics_progress
        for update skip locked`,
    [new Date(nowMs - LONGEST_KEPT_MS)],
  );
  if (row === undefined) {
    await query('insert into instep.statistics_progress default values on conflict do nothing');
    return null;
  }
  const { after, upTo, is_lost } = row;
  if (after !== null && upTo !== null && !is_lost) return { summed: { after, upTo } };
  await query('delete from instep.statistics_parked');
  return { summed: null };
}

/** Notes what is in the sums. */
export async function writeStatisticsProgress(
  query: Query,
  { after, upTo }: PositionRange,
): Promise<void> {
  await query(
    `update instep.statistics_progress
        set after_position = $1,
            up_to_position = $2`,
    [after, upTo],
  );
}

/** Adds `changes` to the sums, but for what is too old to be shown. */
const ADD = `
  insert into instep.statistics as figure (slot_seconds, starts_at, outcome, delay_bucket, count)
  select slot_seconds,
         date_bin(slot_seconds * interval '1 second', received_at, 'epoch') as slot_starts_at,
         outcome,
         delay_bucket,
         sum(change)
    from changes
   cross join unnest($2::integer[]) as slot_seconds
   where received_at >= $1::timestamptz - slot_seconds * ${KEPT_SLOTS} * interval '1 second'
   group by slot_seconds, slot_starts_at, outcome, delay_bucket
      on conflict (slot_seconds, starts_at, outcome, delay_bucket) do update
     set count = figure.count + excluded.count`;

/**
 * Adds a stretch of the log to the sums; all that will ever stand there must be committed. Returns
 * how many of its events are new enough to be shown.
 */
export async function addToStatistics(
  query: Query,
  { after, upTo }: PositionRange,
  nowMs: number,
): Promise<number> {
  const [row] = await query<{ count: number }>(
    `with logged as materialized (
       select position, received_at, outcome, ${DELAY_BUCKET} as delay_bucket
         from instep.events
        where position > $3
          and position <= $4
          and received_at >= $5
     ), remembered as (
       insert into instep.statistics_parked (position, received_at, delay_bucket)
       select position, received_at, delay_bucket
         from logged
        where outcome = 'parked'
     ), changes as (
       select received_at, outcome, delay_bucket, 1 as change
         from logged
     ), added as (${ADD})
     select count(*)
       from logged`,
    [new Date(nowMs), SLOTS_SECONDS, after, upTo, new Date(nowMs - LONGEST_KEPT_MS)],
  );
  return row?.count ?? 0;
}

/**
 * Moves events that were parked when they were summed to what came of them since. One that was
 * deleted before that was seen is taken out.
 */
export async function moveDecided(query: Query, nowMs: number): Promise<void> {
  await query(
    `with decided as (
       delete from instep.statistics_parked as remembered
        using instep.statistics_parked as same
         left join instep.events as event using (position)
        where remembered.position = same.position
          and event.outcome is distinct from 'parked'
       returning remembered.received_at, remembered.delay_bucket, event.outcome
     ), changes as (
       select received_at, 'parked' as outcome, delay_bucket, -1 as change
         from decided
        union all
       select received_at, outcome, delay_bucket, 1
         from decided
        where outcome is not null
     )
     ${ADD}`,
    [new Date(nowMs), SLOTS_SECONDS],
  );
}

/** Forgets what is too old to be shown. */
export async function deleteOldStatistics(query: Query, nowMs: number): Promise<void> {
  await query(
    `with forgotten as (
       delete from instep.statistics_parked
        where received_at < $3
     )
     delete from instep.statistics
      using unnest($2::integer[]) as slot (seconds)
      where slot_seconds = slot.seconds
        and starts_at < $1::timestamptz - slot.seconds * ${KEPT_SLOTS} * interval '1 second'`,
    [new Date(nowMs), SLOTS_SECONDS, new Date(nowMs - LONGEST_KEPT_MS)],
  );
}
