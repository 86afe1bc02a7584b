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
