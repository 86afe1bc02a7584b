import type { SlotSeconds } from '../../../queries/write-statistics.ts';

/** How far back the charts look. */
export type Range = {
  readonly name: 'hour' | 'day' | 'week';
  readonly slotSeconds: SlotSeconds;
  readonly slots: number;
  /** How long a slot is, in words. */
  readonly slot: string;
  /** What is written below the charts, at even distances. */
  readonly ticks: readonly string[];
};

const HOUR: Range = {
  name: 'hour',
  slotSeconds: 60,
  slots: 60,
  slot: 'minute',
  ticks: ['1 h ago', '45 min', '30 min', '15 min', 'now'],
};

export const RANGES: readonly Range[] = [
  HOUR,
  {
    name: 'day',
    slotSeconds: 900,
    slots: 96,
    slot: '15 minutes',
    ticks: ['24 h ago', '18 h', '12 h', '6 h', 'now'],
  },
  {
    name: 'week',
    slotSeconds: 7_200,
    slots: 84,
    slot: '2 hours',
    ticks: ['7 days ago', '3½ days', 'now'],
  },
];

/** The range of this name; the last hour for any other. */
export function rangeOf(name: string | undefined): Range {
  return RANGES.find((range) => range.name === name) ?? HOUR;
}

/** When the first slot begins, in milliseconds since 1970; the last one holds this moment. */
export function firstSlotMs({ slotSeconds, slots }: Range, nowMs: number): number {
  const slotMs = slotSeconds * 1_000;
  return (Math.floor(nowMs / slotMs) - slots + 1) * slotMs;
}
