import type { LoggedOutcome } from '../../../core/logged-event.ts';
import { DELAY_BOUNDS_SECONDS, NO_DELAY } from '../../../queries/delay-buckets.ts';
import type { StatisticsRow } from '../../../queries/read-statistics.ts';
import { firstSlotMs, type Range } from './range.ts';

/** In the order in which they are stacked, from the ground up. */
export const OUTCOMES: readonly LoggedOutcome[] = [
  'applied',
  'unchanged',
  'stale',
  'parked',
  'unreadable',
];

const NOTHING = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };

/** What a slot of time has. */
export type Slot = {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  readonly counts: Readonly<Record<LoggedOutcome, number>>;
  /** So many seconds at most half of the events were late; `null` when nothing tells. */
  readonly p50Seconds: number | null;
  readonly p99Seconds: number | null;
};

/** The slots of a range, the oldest first: those without events, too. */
export function seriesOf(figures: readonly StatisticsRow[], range: Range, nowMs: number): Slot[] {
  const bySlot = new Map<number, StatisticsRow[]>();
  for (const figure of figures) {
    bySlot.set(figure.startsAtMs, [...(bySlot.get(figure.startsAtMs) ?? []), figure]);
  }
  const firstMs = firstSlotMs(range, nowMs);
  return Array.from({ length: range.slots }, (_, index) => {
    const startsAtMs = firstMs + index * range.slotSeconds * 1_000;
    const found = bySlot.get(startsAtMs) ?? [];
    return {
      startsAtMs,
      counts: countsOf(found),
      p50Seconds: percentile(found, 0.5),
      p99Seconds: percentile(found, 0.99),
    };
  });
}

function countsOf(figures: readonly StatisticsRow[]): Record<LoggedOutcome, number> {
  const counts = { ...NOTHING };
  for (const { outcome, count } of figures) counts[outcome] += count;
  return counts;
}

/** The bound of the bucket in which so much of the delays ends. */
function percentile(figures: readonly StatisticsRow[], share: number): number | null {
  const delayed = figures
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

/** All slots in one. */
export function totalsOf(slots: readonly Slot[]): Record<LoggedOutcome, number> {
  const totals = { ...NOTHING };
  for (const { counts } of slots)
    for (const outcome of OUTCOMES) totals[outcome] += counts[outcome];
  return totals;
}
