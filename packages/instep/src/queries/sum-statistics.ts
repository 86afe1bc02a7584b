import { readNewestPosition } from '../event-log/search.ts';
import { type PositionRange, readPositionRange } from '../event-log/search-events.ts';
import type { Database, Query } from '../postgres/database.ts';
import { pause, rest } from '../runtime/pause.ts';
import {
  addToStatistics,
  deleteOldStatistics,
  lockStatistics,
  moveDecided,
  readLogWriters,
  writeStatisticsProgress,
} from './write-statistics.ts';

type SumStatisticsOptions = {
  readonly database: Database;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

/** The number of events per step, which takes tens of milliseconds. */
const STEP = 10_000;

/** Steps take at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

/** How often the open transactions that write to the log are read. */
const WRITERS_INTERVAL_MS = 50;

/** How long to wait for these transactions. After that, the next run of the job continues. */
const WRITERS_DEADLINE_MS = 10_000;

/**
 * Adds events to the statistics: those since the last run, and then older ones, backward from the first
 * counted event, as far as the statistics go. Each event is added once, because a step begins only when
 * every event in it has been committed.
 */
export async function sumStatistics(
  { database, now, clockMs }: SumStatisticsOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const settled = await readSettledPosition(database.query, clockMs, signal);
    if (settled === null) return;
    const startedAtMs = performance.now();
    const isDone = await database.transaction((query) => sumStep(query, settled, now()));
    if (isDone || signal.aborted) return;
    await rest({ startedAtMs, share: SHARE }, signal);
  }
}

/** One step in each direction. Returns whether everything is done. */
async function sumStep(query: Query, settled: number, nowMs: number): Promise<boolean> {
  const progress = await lockStatistics(query, nowMs);
  if (progress === null) return true;
  const { after, upTo } = progress.summed ?? { after: settled, upTo: settled };

  await moveDecided(query, nowMs);
  const ahead = { after: upTo, upTo: Math.max(upTo, Math.min(settled, upTo + STEP)) };
  await addToStatistics(query, ahead, nowMs);
  const beginning = await sumBack(query, after, nowMs);
  await deleteOldStatistics(query, nowMs);

  const summed: PositionRange = { after: beginning, upTo: ahead.upTo };
  await writeStatisticsProgress(query, summed);
  return summed.after === 0 && summed.upTo >= settled;
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
