import * as v from 'valibot';
import { readNewestPosition } from '../event-log/search.ts';
import { readPositionRange } from '../event-log/search-events.ts';
import type { Database, Query } from '../postgres/database.ts';
import { pause, rest } from '../runtime/retry.ts';
import {
  addToStatistics,
  areStatisticsLost,
  deleteOldStatistics,
  forgetParked,
  moveDecided,
  readLogWriters,
} from './statistics.ts';

type SumStatisticsOptions = {
  database: Database;
  now: () => number;
  clockMs: () => number;
};

/** A run of the job, which no other instance runs at the same time. */
type Run = {
  /** The range of positions that the sums hold; `null` the first time. */
  progress: unknown;
  /** Saves the progress in a transaction, which fails if another instance took the job over. */
  saveProgress(progress: object, query: Query): Promise<void>;
};

/** The number of events per step, which takes tens of milliseconds. */
const STEP = 10_000;

/** Steps take at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

/** How often the open transactions that write to the log are read. */
const WRITERS_INTERVAL_MS = 50;

/** How long to wait for these transactions. After that, the next run of the job continues. */
const WRITERS_DEADLINE_MS = 10_000;

const integer = v.pipe(v.number(), v.integer());

/** The part of the log that is in the sums, and the parked events in it that were examined last. */
const progressShape = v.object({
  after: integer,
  upTo: integer,
  examinedUpTo: v.optional(integer, 0),
});

type Summed = v.InferOutput<typeof progressShape>;

/**
 * Adds events to the statistics: those since the last run, and then older ones, backward from the first
 * counted event, as far as the statistics go. Each event is added once: a step begins only when every event
 * in it has been committed, and is committed together with the job's progress.
 */
export async function sumStatistics(
  run: Run,
  { database, now, clockMs }: SumStatisticsOptions,
  signal: AbortSignal,
): Promise<void> {
  const saved = v.safeParse(progressShape, run.progress);
  let summed = saved.success ? saved.output : null;
  for (;;) {
    const settled = await readSettledPosition(database.query, clockMs, signal);
    if (settled === null) return;
    const startedAtMs = performance.now();
    const range: Summed = await database.transaction(async (query) => {
      const range = await sumStep(query, summed, settled, now());
      await run.saveProgress(range, query);
      return range;
    });
    if ((range.after === 0 && range.upTo >= settled) || signal.aborted) return;
    summed = range;
    await rest({ startedAtMs, share: SHARE }, signal);
  }
}

/** One step in each direction. Returns what is in the sums then. */
async function sumStep(
  query: Query,
  summed: Summed | null,
  settled: number,
  nowMs: number,
): Promise<Summed> {
  const isNew = summed === null || (await areStatisticsLost(query, nowMs));
  if (isNew) await forgetParked(query);
  const { after, upTo } = isNew ? { after: settled, upTo: settled } : summed;

  const examinedUpTo = await moveDecided(query, summed?.examinedUpTo ?? 0, nowMs);
  const ahead = { after: upTo, upTo: Math.max(upTo, Math.min(settled, upTo + STEP)) };
  await addToStatistics(query, ahead, nowMs);
  const beginning = await sumBack(query, after, nowMs);
  await deleteOldStatistics(query, nowMs);
  return { after: beginning, upTo: ahead.upTo, examinedUpTo };
}

/** Adds the last events up to a position. Returns the position after which all are added now. */
async function sumBack(query: Query, upTo: number, nowMs: number): Promise<number> {
  const newest = { order: 'newest first', limit: STEP } as const;
  const range = await readPositionRange(query, { after: 0, upTo }, newest);
  if (range === null) return 0;
  const count = await addToStatistics(query, range, nowMs);
  return count === 0 ? 0 : range.after;
}

/** A position up to which no more events can appear; `null` when that takes too long. */
async function readSettledPosition(
  query: Query,
  clockMs: () => number,
  signal: AbortSignal,
): Promise<number | null> {
  const newest = await readNewestPosition(query);
  let writers = await readLogWriters(query);
  const deadlineMs = clockMs() + WRITERS_DEADLINE_MS;
  while (writers.length > 0) {
    await pause(WRITERS_INTERVAL_MS, { signal });
    if (signal.aborted || clockMs() > deadlineMs) return null;
    const still = new Set(await readLogWriters(query));
    writers = writers.filter((writer) => still.has(writer));
  }
  return newest;
}
