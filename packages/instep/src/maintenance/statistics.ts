// The job that sums the event log by time, outcome and delay, and the reader of the sums. operate/statistics.ts
// makes charts of them (docs/decisions/0016).

import * as v from 'valibot';
import { FIRST_DATED_KEY } from '../core/event-key-layout.ts';
import type { LoggedOutcome } from '../core/subscription-event.ts';
import { type PositionRange, readPositionSince } from '../event-log/event-rows.ts';
import { readSettledPosition } from '../event-log/search.ts';
import type { Database, Query } from '../postgres/database.ts';
import { throttle } from '../runtime/retry.ts';
import type { LeasedRun } from './lease.ts';

/** Each bucket holds delays below its bound. The last one also holds all longer delays. */
export const DELAY_BOUNDS_SECONDS: readonly number[] = Array.from(
  { length: 48 },
  (_, bucket) => 0.25 * 2 ** (bucket / 2),
);

/** The bucket of events without a delay: Stripe did not deliver them, or their time is unknown. */
export const NO_DELAY = -1;

/**
 * The bucket of a logged event, in SQL. An event without a time of its own has no delay: its
 * `created_at` is the time of arrival.
 */
const DELAY_BUCKET = `
  case
    when created_at is null or deliveries = 0 or key < '${FIRST_DATED_KEY}' then ${NO_DELAY}
    -- Neither \`extract\` nor a logarithm: both take several times as long.
    else width_bucket(date_part('epoch', received_at - created_at),
                      '{${DELAY_BOUNDS_SECONDS.slice(0, -1).join(', ')}}'::double precision[])
  end::smallint`;

/** The lengths of the time slots that the log is summed into. */
export const SLOTS_SECONDS = [60, 900, 7_200] as const;

export type SlotSeconds = (typeof SLOTS_SECONDS)[number];

/** The number of slots that are kept of each length: 2 hours, 32 hours and 10 days. */
const KEPT_SLOTS = 128;

const LONGEST_KEPT_MS = Math.max(...SLOTS_SECONDS) * KEPT_SLOTS * 1_000;

/** Adds `changes` to the sums, except for slots that are too old to be shown. */
const ADD_CHANGES = `
  insert into instep.statistics as known (slot_seconds, starts_at, outcome, delay_bucket, count)
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
     set count = known.count + excluded.count`;

/** Adds a range of the log to the sums. All events of the range must be committed. */
async function addToStatistics(
  query: Query,
  { after, upTo }: PositionRange,
  nowMs: number,
): Promise<void> {
  await query({
    name: 'add_to_statistics',
    text: `
      with logged as materialized (
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
      )
      ${ADD_CHANGES}`,
    values: [new Date(nowMs), SLOTS_SECONDS, after, upTo, new Date(nowMs - LONGEST_KEPT_MS)],
  });
}

/** How many parked events are examined at once, so that the cost does not grow with the number that wait. */
const EXAMINED = 1_000;

/**
 * Moves events that were parked when they were summed to their present outcome, or removes them when they have
 * been deleted since or are too old to be shown. Examines the next ones after a position, and returns the position
 * to continue after: 0 to start again.
 */
async function moveDecided(query: Query, after: number, nowMs: number): Promise<number> {
  const [row] = await query<{ count: number; last: number }>({
    name: 'move_decided',
    text: `
      with examined as materialized (
        select position,
               received_at,
               -- A subquery rather than a join, which would read the whole log.
               (select outcome from instep.events where position = remembered.position) as outcome
          from instep.statistics_parked as remembered
         where position > $3
         order by position
         limit ${EXAMINED}
      ), decided as (
        delete from instep.statistics_parked as remembered
         using examined
         where remembered.position = examined.position
           and (examined.outcome is distinct from 'parked' or examined.received_at < $4)
        returning remembered.received_at, remembered.delay_bucket, examined.outcome
      ), changes as (
        select received_at, 'parked' as outcome, delay_bucket, -1 as change
          from decided
         union all
        select received_at, outcome, delay_bucket, 1
          from decided
         where outcome is not null
      ), moved as (${ADD_CHANGES})
      select count(*) as count, coalesce(max(position), 0) as last
        from examined`,
    values: [new Date(nowMs), SLOTS_SECONDS, after, new Date(nowMs - LONGEST_KEPT_MS)],
  });
  return row === undefined || row.count < EXAMINED ? 0 : row.last;
}

async function deleteOldStatistics(query: Query, nowMs: number): Promise<void> {
  await query({
    name: 'delete_old_statistics',
    text: `
      delete from instep.statistics
       using unnest($2::integer[]) as slot (seconds)
       where slot_seconds = slot.seconds
         and starts_at < $1::timestamptz - slot.seconds * ${KEPT_SLOTS} * interval '1 second'`,
    values: [new Date(nowMs), SLOTS_SECONDS],
  });
}

/** The number of events in a time slot with this outcome and this delay. */
export type StatisticsRow = {
  readonly startsAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly delayBucket: number;
  readonly count: number;
};

export type StatisticsRequest = {
  readonly slotSeconds: SlotSeconds;
  readonly sinceMs: number;
};

export type LogStatistics = {
  readonly rows: readonly StatisticsRow[];
  /** Whether they are complete; otherwise maintenance is still summing the log. */
  readonly isComplete: boolean;
};

/** The maximum number of events that are counted directly. Maintenance soon sums any others. */
const MOST_COUNTED = 50_000;

/** The events since a time: the sums, and the logged events that are not yet in them. */
export async function readStatistics(
  query: Query,
  { slotSeconds, sinceMs }: StatisticsRequest,
): Promise<LogStatistics> {
  type Row = { isComplete: boolean } & (StatisticsRow | { startsAtMs: null });
  const rows = await query<Row>({
    name: 'read_statistics',
    // One statement, so that both halves show the same moment.
    text: `
      with progress as materialized (
        select coalesce(max((progress ->> 'upTo')::bigint), 0) as up_to
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
        select count(*) < ${MOST_COUNTED} as is_complete
          from newest
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

type SumStatisticsOptions = {
  database: Database;
  now: () => number;
  clockMs: () => number;
};

/** The number of events per step, which takes tens of milliseconds. */
const STEP = 10_000;

/** Steps take at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

const integer = v.pipe(v.number(), v.integer());

/** The events up to a position are in the sums, and the parked events up to another one were examined last. */
const progressShape = v.object({ upTo: integer, examinedUpTo: v.optional(integer, 0) });

type Summed = v.InferOutput<typeof progressShape>;

/**
 * Adds the events since the last run to the statistics; the first time, those since the oldest slot began. Each
 * event is added once: a step begins only when every event in it has been committed, and is committed together with
 * the job's progress.
 */
export async function sumStatistics(
  run: Pick<LeasedRun, 'progress' | 'saveProgress'>,
  { database, now, clockMs }: SumStatisticsOptions,
  signal: AbortSignal,
): Promise<void> {
  const saved = v.safeParse(progressShape, run.progress);
  let summed = saved.success ? saved.output : null;
  do {
    const settled = await readSettledPosition(database.query, { signal, clockMs });
    if (settled === null) return;
    const startedAtMs = performance.now();
    const last: Summed = await database.transaction(async (query) => {
      const next = await sumStep(query, summed, settled, now());
      await run.saveProgress(next, query);
      return next;
    });
    if (last.upTo >= settled) return;
    summed = last;
    await throttle({ startedAtMs, share: SHARE }, signal);
  } while (!signal.aborted);
}

/** Without progress, all sums are computed again. */
const FORGET_ALL = `
  with forgotten as (delete from instep.statistics_parked)
  delete from instep.statistics`;

async function sumStep(
  query: Query,
  summed: Summed | null,
  settled: number,
  nowMs: number,
): Promise<Summed> {
  let after = summed?.upTo ?? 0;
  if (summed === null) {
    await query(FORGET_ALL);
    const first = await readPositionSince(query, nowMs - LONGEST_KEPT_MS);
    after = Math.min(settled, (first ?? Number.POSITIVE_INFINITY) - 1);
  }
  const examinedUpTo = await moveDecided(query, summed?.examinedUpTo ?? 0, nowMs);
  const upTo = Math.max(after, Math.min(settled, after + STEP));
  await addToStatistics(query, { after, upTo }, nowMs);
  await deleteOldStatistics(query, nowMs);
  return { upTo, examinedUpTo };
}
