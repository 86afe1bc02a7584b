const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `12 MB` */
export function sizeOf(bytes: number): string {
  const exponent = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), UNITS.length - 1);
  const count = bytes / 1_000 ** exponent;
  return `${count.toFixed(count < 10 && exponent > 0 ? 1 : 0)} ${UNITS[exponent]}`;
}

/** `40 s`, `12 min`, `3 h` or `5 days` */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
