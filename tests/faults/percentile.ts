/** A percentile of measured times, in whole milliseconds. For reports only. */
export function percentile(measuredMs: readonly number[], percent: number): number {
  const sorted = Float64Array.from(measuredMs).sort();
  const place = Math.ceil((sorted.length * percent) / 100) - 1;
  return Math.round(sorted[Math.max(0, place)] ?? 0);
}
