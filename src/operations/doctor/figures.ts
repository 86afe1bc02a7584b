const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `12 MB` */
export function sizeOf(bytes: number): string {
  const exponent = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), UNITS.length - 1);
  const count = bytes / 1_000 ** exponent;
  return `${count.toFixed(count < 10 && exponent > 0 ? 1 : 0)} ${UNITS[exponent]}`;
}
