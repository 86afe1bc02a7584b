// What happened in time, for the charts of the overview. It reads what jobs have summed and recorded.

import type { LoggedOutcome } from '../core/subscription-event.ts';
import { type InstanceRun, MAX_UNSEEN_MS, readInstanceRuns } from '../maintenance/instance-runs.ts';
import { type ResponsesRow, readResponses } from '../maintenance/responses.ts';
import {
  DELAY_BOUNDS_SECONDS,
  NO_DELAY,
  readStatistics as readLogStatistics,
  type SlotSeconds,
  type StatisticsRow,
} from '../maintenance/statistics.ts';
import type { OperateContext } from './context.ts';

/** Upper bounds of the delay of 50% and 99% of the events; `null` without any. */
export type Delays = { readonly p50Seconds: number | null; readonly p99Seconds: number | null };

/** What happened in a time slot. */
export type Slot = Delays & {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  /** The number of events that arrived, by outcome. */
  readonly counts: Readonly<Record<LoggedOutcome, number>>;
  /** The number of responses to deliveries, by class (`RESPONSE_CLASSES`). */
  readonly responses: ReadonlyMap<string, number>;
};

export const RESPONSE_CLASSES = ['200', '4xx', '5xx'] as const;

/** Something that can explain a change in the statistics. Times are in milliseconds since 1970. */
export type Interruption = {
  /** `deploy`: another version has started. */
  readonly kind: 'start' | 'deploy' | 'outage';
  readonly atMs: number;
  /** The end of an outage, which is now while it lasts. */
  readonly untilMs: number;
  /** The version that has started; `null` for an outage. */
  readonly version: string | null;
};

/** What happened in the last time slots. */
export type Statistics = {
  /** All slots, the oldest first, also those without events. The last one has the present time. */
  readonly slots: readonly Slot[];
  /** Those of all slots. */
  readonly delays: Delays;
  /** Whether they are complete; otherwise maintenance is still summing the log. */
  readonly isComplete: boolean;
  /**
   * The responses to Stripe's deliveries in each time slot, by status and reason. Each instance adds its own once a
   * minute, and they are kept for 10 days.
   */
  readonly responses: readonly ResponsesRow[];
  /** Starts, deploys and outages, by time. They are known for at most 15 days. */
  readonly interruptions: readonly Interruption[];
};

export type StatisticsRequest = { readonly slotSeconds: SlotSeconds; readonly slots: number };

/**
 * How many events arrived in each of the last time slots, by outcome, and with which delay; the responses to their
 * deliveries; and when no instance was running.
 *
 * @example
 * ```ts
 * const { slots, isComplete } = await readStatistics(context, { slotSeconds: 60, slots: 60 });
 * console.log(slots.length, isComplete); // 60 true
 * ```
 */
export async function readStatistics(
  { database, now }: OperateContext,
  request: StatisticsRequest,
): Promise<Statistics> {
  const nowMs = now();
  const { slotSeconds } = request;
  const sinceMs = firstSlotMs(request, nowMs);
  const [{ rows, isComplete }, responses, runs] = await Promise.all([
    // In a transaction, plans prefer indexes: the planner does not know how few rows are not summed yet.
    database.transaction((query) => readLogStatistics(query, { slotSeconds, sinceMs })),
    readResponses(database.query, { slotSeconds, sinceMs }),
    readInstanceRuns(database.query),
  ]);
  return {
    slots: slotsOf(rows, request, nowMs, responses),
    delays: delaysOf(rows),
    isComplete,
    responses,
    interruptions: interruptionsOf(runs, nowMs).filter(({ untilMs }) => untilMs >= sinceMs),
  };
}

/** When the first slot starts; `nowMs` is in the last slot. */
function firstSlotMs({ slotSeconds, slots }: StatisticsRequest, nowMs: number): number {
  const slotMs = slotSeconds * 1_000;
  return (Math.floor(nowMs / slotMs) - slots + 1) * slotMs;
}

/** All slots, oldest first, also those without events. Pure. */
export function slotsOf(
  rows: readonly StatisticsRow[],
  request: StatisticsRequest,
  nowMs: number,
  responses: readonly ResponsesRow[] = [],
): Slot[] {
  const bySlot = groupBySlot(rows);
  const responsesBySlot = groupBySlot(responses);
  const firstMs = firstSlotMs(request, nowMs);
  return Array.from({ length: request.slots }, (_, index) => {
    const startsAtMs = firstMs + index * request.slotSeconds * 1_000;
    const ofSlot = bySlot.get(startsAtMs) ?? [];
    const sums = sumsOf(responsesBySlot.get(startsAtMs) ?? []);
    return { startsAtMs, counts: countsOf(ofSlot), responses: sums, ...delaysOf(ofSlot) };
  });
}

function groupBySlot<Row extends { readonly startsAtMs: number }>(rows: readonly Row[]) {
  const bySlot = new Map<number, Row[]>();
  for (const row of rows) {
    const ofSlot = bySlot.get(row.startsAtMs);
    if (ofSlot === undefined) bySlot.set(row.startsAtMs, [row]);
    else ofSlot.push(row);
  }
  return bySlot;
}

const classOf = ({ status }: ResponsesRow) =>
  RESPONSE_CLASSES[status < 400 ? 0 : status < 500 ? 1 : 2];

function sumsOf(responses: readonly ResponsesRow[]): Slot['responses'] {
  const sums = new Map<string, number>();
  for (const row of responses) sums.set(classOf(row), (sums.get(classOf(row)) ?? 0) + row.count);
  return sums;
}

const delaysOf = (rows: readonly StatisticsRow[]): Delays => ({
  p50Seconds: percentile(rows, 0.5),
  p99Seconds: percentile(rows, 0.99),
});

function countsOf(rows: readonly StatisticsRow[]): Slot['counts'] {
  const counts = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };
  for (const { outcome, count } of rows) counts[outcome] += count;
  return counts;
}

/** The upper bound of the bucket that contains this share of the delays. */
function percentile(rows: readonly StatisticsRow[], share: number): number | null {
  const delayed = rows
    .filter(({ delayBucket }) => delayBucket !== NO_DELAY)
    .sort((a, b) => a.delayBucket - b.delayBucket);
  const wanted = delayed.reduce((sum, { count }) => sum + count, 0) * share;
  let passed = 0;
  for (const { delayBucket, count } of delayed) {
    passed += count;
    if (passed >= wanted) return DELAY_BOUNDS_SECONDS[delayBucket] ?? null;
  }
  return null;
}

/** The starts, deploys and outages that follow from all runs, by time. Pure. */
export function interruptionsOf(runs: readonly InstanceRun[], nowMs: number): Interruption[] {
  const found: Interruption[] = [];
  const outage = (atMs: number, untilMs: number) =>
    found.push({ kind: 'outage', atMs, untilMs, version: null });
  const start = (kind: 'start' | 'deploy', { startedAtMs, version }: InstanceRun) =>
    found.push({ kind, atMs: startedAtMs, untilMs: startedAtMs, version });
  let version: string | null = null;
  let seenMs = runs[0]?.startedAtMs ?? nowMs;
  for (const run of runs) {
    const { startedAtMs } = run;
    if (startedAtMs - seenMs > MAX_UNSEEN_MS) outage(seenMs, startedAtMs);
    if (run.version !== version) start('deploy', run);
    // Instances that start together, or after an outage, are one interruption.
    else if (startedAtMs - (found.at(-1)?.untilMs ?? 0) > MAX_UNSEEN_MS) start('start', run);
    version = run.version;
    seenMs = Math.max(seenMs, run.seenAtMs);
  }
  if (nowMs - seenMs > MAX_UNSEEN_MS) outage(seenMs, nowMs);
  return found;
}
