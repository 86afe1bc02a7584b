// Counts and durations as texts, and back: for messages and commands.

/**
 * `1,234`, and `10,000+` where counting stops at `most`.
 *
 * @example
 * ```ts
 * import { countText } from 'instep/operate';
 *
 * console.log(countText(10_000, 10_000)); // 10,000+
 * ```
 */
export function countText(count: number, most = Number.POSITIVE_INFINITY): string {
  return `${count.toLocaleString('en')}${count >= most ? '+' : ''}`;
}

/**
 * `1 team`, `2 teams`, and with `most`, as of `countText`, `10,000+ teams`
 *
 * @example
 * ```ts
 * import { counted } from 'instep/operate';
 *
 * console.log(counted(2, 'team')); // 2 teams
 * ```
 */
export function counted(count: number, noun: string, most?: number): string {
  return `${countText(count, most)} ${noun}${count === 1 ? '' : 's'}`;
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a duration such as `90d`, `12h`, `30m` or `45s` into milliseconds; `null` when it is not one. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** A duration as `parseDuration` reads it, in the largest unit: `14d`. */
export function durationSetting(ms: number): string {
  const units = Object.entries(UNIT_MS).filter(([, unitMs]) => ms % unitMs === 0);
  const [unit, unitMs] = units.at(-1) ?? ['s', UNIT_MS.s];
  return `${ms / unitMs}${unit}`;
}

/**
 * `40 s`, `12 min`, `3 h` or `5 days`
 *
 * @example
 * ```ts
 * import { durationText } from 'instep/operate';
 *
 * console.log(durationText(40_000)); // 40 s
 * ```
 */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
