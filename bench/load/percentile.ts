/** Of 100 measured values so many were no larger. */
export function percentile(sorted: Float64Array, percent: number): number {
  const place = Math.ceil((sorted.length * percent) / 100) - 1;
  return sorted[Math.max(0, place)] ?? 0;
}
