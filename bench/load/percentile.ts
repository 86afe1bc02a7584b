/** The value that this percentage of the sorted values does not exceed. */
export function percentile(sorted: Float64Array, percent: number): number {
  const place = Math.ceil((sorted.length * percent) / 100) - 1;
  return sorted[Math.max(0, place)] ?? 0;
}
