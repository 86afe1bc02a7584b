/** `1,234`, and `10,000+` where counting stops at `most`. */
export function countText(count: number, most = Number.POSITIVE_INFINITY): string {
  return `${count.toLocaleString('en')}${count >= most ? '+' : ''}`;
}

/** `1 team`, `2 teams` */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** `1 second`, `119 seconds`, `2 minutes` or `3 days` */
export function durationText(seconds: number): string {
  const [unit, length] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['second', 1];
  return counted(Math.floor(seconds / length), unit);
}

/** `40 s`, `12 min`, `3 h` or `5 days` */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
