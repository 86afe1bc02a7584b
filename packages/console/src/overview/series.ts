import {
  DELAY_BOUNDS_SECONDS,
  LOGGED_OUTCOMES,
  type LoggedOutcome,
  NO_DELAY,
  type ResponsesRow,
  type SlotSeconds,
  type StatisticsRow,
} from 'instep/operate';

/** The time that a chart covers. */
export type Range = {
  readonly name: 'hour' | 'day' | 'week';
  readonly slotSeconds: SlotSeconds;
  readonly slots: number;
  /** The length of a slot, in words. */
  readonly slot: string;
  /** The time between two labels below the chart, which are at multiples of it. */
  readonly tickSeconds: number;
};

const HOUR: Range = {
  name: 'hour',
  slotSeconds: 60,
  slots: 60,
  slot: 'minute',
  tickSeconds: 900,
};

const DAY: Range = {
  name: 'day',
  slotSeconds: 900,
  slots: 96,
  slot: '15 minutes',
  tickSeconds: 21_600,
};

const WEEK: Range = {
  name: 'week',
  slotSeconds: 7_200,
  slots: 84,
  slot: '2 hours',
  tickSeconds: 172_800,
};

export const RANGES: readonly Range[] = [HOUR, DAY, WEEK];

/** The range of this name, or the hour. */
export function rangeOf(name: string | undefined): Range {
  return RANGES.find((range) => range.name === name) ?? HOUR;
}

/** When the first slot starts, in milliseconds since 1970; `nowMs` is in the last slot. */
export function firstSlotMs({ slotSeconds, slots }: Range, nowMs: number): number {
  const slotMs = slotSeconds * 1_000;
  return (Math.floor(nowMs / slotMs) - slots + 1) * slotMs;
}

/** Where a time is in a chart that starts at `firstMs`, in slots from its left edge. */
export function slotsAt({ slotSeconds }: Range, firstMs: number, atMs: number): number {
  return (atMs - firstMs) / (slotSeconds * 1_000);
}

/** The times of the labels below a chart that starts at `firstMs`. */
export function ticksOf({ slotSeconds, slots, tickSeconds }: Range, firstMs: number): number[] {
  const tickMs = tickSeconds * 1_000;
  const endMs = firstMs + slots * slotSeconds * 1_000;
  const ticks = [];
  for (let at = Math.ceil(firstMs / tickMs) * tickMs; at < endMs; at += tickMs) ticks.push(at);
  return ticks;
}

type Counts = Readonly<Record<LoggedOutcome, number>>;

/** Upper bounds of the delay of 50% and 99% of the events; `null` without any. */
export type Delays = { readonly p50Seconds: number | null; readonly p99Seconds: number | null };

export type Slot = Delays & {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  readonly counts: Counts;
  /** The number of responses to deliveries, by class. */
  readonly responses: ReadonlyMap<string, number>;
};

export const RESPONSE_CLASSES = ['200', '4xx', '5xx'] as const;

const classOf = ({ status }: ResponsesRow) =>
  RESPONSE_CLASSES[status < 400 ? 0 : status < 500 ? 1 : 2];

/** All slots of a range, oldest first, also those without events. */
export function seriesOf(
  rows: readonly StatisticsRow[],
  range: Range,
  nowMs: number,
  responses: readonly ResponsesRow[] = [],
): Slot[] {
  const bySlot = groupBySlot(rows);
  const responsesBySlot = groupBySlot(responses);
  const firstMs = firstSlotMs(range, nowMs);
  return Array.from({ length: range.slots }, (_, index) => {
    const startsAtMs = firstMs + index * range.slotSeconds * 1_000;
    const found = bySlot.get(startsAtMs) ?? [];
    const answered = responsesBySlot.get(startsAtMs) ?? [];
    return { startsAtMs, counts: countsOf(found), responses: sumsOf(answered), ...delaysOf(found) };
  });
}

function groupBySlot<Row extends { readonly startsAtMs: number }>(rows: readonly Row[]) {
  const bySlot = new Map<number, Row[]>();
  for (const row of rows) {
    const own = bySlot.get(row.startsAtMs);
    if (own === undefined) bySlot.set(row.startsAtMs, [row]);
    else own.push(row);
  }
  return bySlot;
}

function sumsOf(responses: readonly ResponsesRow[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const row of responses) sums.set(classOf(row), (sums.get(classOf(row)) ?? 0) + row.count);
  return sums;
}

export function delaysOf(rows: readonly StatisticsRow[]): Delays {
  return { p50Seconds: percentile(rows, 0.5), p99Seconds: percentile(rows, 0.99) };
}

function countsOf(rows: readonly Pick<StatisticsRow, 'outcome' | 'count'>[]): Counts {
  const counts = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };
  for (const { outcome, count } of rows) counts[outcome] += count;
  return counts;
}

/** The upper bound of the bucket that contains this share of the delays. */
function percentile(rows: readonly StatisticsRow[], share: number): number | null {
  const delayed = rows
    .filter(({ delayBucket }) => delayBucket !== NO_DELAY)
    .sort((a, b) => a.delayBucket - b.delayBucket);
  const wanted = countOf({ counts: countsOf(delayed) }) * share;
  let passed = 0;
  for (const { delayBucket, count } of delayed) {
    passed += count;
    if (passed >= wanted) return DELAY_BOUNDS_SECONDS[delayBucket] ?? null;
  }
  return null;
}

export function countOf({ counts }: { readonly counts: Counts }): number {
  return LOGGED_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);
}

export function totalsOf(slots: readonly Slot[]): Counts {
  return countsOf(
    slots.flatMap(({ counts }) =>
      LOGGED_OUTCOMES.map((outcome) => ({ outcome, count: counts[outcome] })),
    ),
  );
}
