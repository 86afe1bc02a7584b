import type { Database, Query } from '../postgres/database.ts';
import { type PositionRange, readPositionRange } from '../queries/search-events.ts';
import {
  addToStatistics,
  deleteOldStatistics,
  lockStatistics,
  moveDecided,
  readLogWriters,
  writeStatisticsProgress,
} from '../queries/write-statistics.ts';
import { pause } from '../runtime/pause.ts';
import { readNewestPosition } from './search.ts';

export type SumStatisticsOptions = {
  readonly database: Database;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

/** So many events are summed at a time, which takes some tens of milliseconds. */
const STEP = 10_000;

/** After each step it is everybody else's turn, for longer than the step took. */
const PAUSE_MS = 200;

/** How often the log's writers are looked at. */
const LOOK_AGAIN_MS = 50;

/** How long the log's writers are waited for. Then it is the next turn's. */
const WRITERS_DEADLINE_MS = 10_000;

/**
 * Sums the log: forwards what has come since the last time, and backwards from where it began, as far
 * as anything is shown of it. Each event is added once, in whatever order they were committed, since
 * no step begins before all is committed that will ever stand in it.
 */
export async function sumStatistics(
  { database, now }: SumStatisticsOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const settled = await readSettledPosition(database.query, now, signal);
    if (settled === null) return;
    const isDone = await database.transaction((query) => sumStep(query, settled, now()));
    if (isDone || signal.aborted) return;
    await pause(PAUSE_MS, { signal });
  }
}

/** One step in each direction. Returns whether there is nothing left for us to do. */
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

/** Adds the last events up to a position. Returns after which one now all is summed that is shown. */
async function sumBack(query: Query, upTo: number, nowMs: number): Promise<number> {
  const stretch = upTo === 0 ? null : await readPositionRange(query, upTo, STEP);
  if (stretch === null) return 0;
  const count = await addToStatistics(query, stretch, nowMs);
  return count === 0 ? 0 : stretch.after;
}

/** A position up to which all is committed that ever will be; `null` when it takes too long. */
async function readSettledPosition(
  query: Query,
  now: () => number,
  signal: AbortSignal,
): Promise<number | null> {
  const newest = await readNewestPosition(query);
  let writers = await readLogWriters(query);
  const deadlineMs = now() + WRITERS_DEADLINE_MS;
  while (writers.length > 0) {
    await pause(LOOK_AGAIN_MS, { signal });
    if (signal.aborted || now() > deadlineMs) return null;
    const still = new Set(await readLogWriters(query));
    writers = writers.filter((writer) => still.has(writer));
  }
  return newest;
}
