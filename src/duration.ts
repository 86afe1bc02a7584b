const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds of a text such as `90d`, `12h`, `30m` or `45s`; `null` when it is none. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
