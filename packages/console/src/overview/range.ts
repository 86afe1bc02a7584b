/** The time that a chart covers. */
export type Range = {
  readonly name: 'hour' | 'day' | 'week';
  readonly slotSeconds: number;
  readonly slots: number;
  /** The length of a slot, in words. */
  readonly slot: string;
  /** The time between two labels below the chart, which are at multiples of it. */
  readonly tickSeconds: number;
};

export const RANGES = [
  { name: 'hour', slotSeconds: 60, slots: 60, slot: 'minute', tickSeconds: 900 },
  { name: 'day', slotSeconds: 900, slots: 96, slot: '15 minutes', tickSeconds: 21_600 },
  { name: 'week', slotSeconds: 7_200, slots: 84, slot: '2 hours', tickSeconds: 172_800 },
] as const satisfies readonly Range[];

/** The range of this name, or the hour. */
export function rangeOf(name: string | undefined): Range {
  return RANGES.find((range) => range.name === name) ?? RANGES[0];
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
