/** @throws RangeError when there are no values */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const below = sorted[Math.ceil(sorted.length / 2) - 1];
  const above = sorted[Math.floor(sorted.length / 2)];
  if (below === undefined || above === undefined) throw new RangeError('there are no values');
  return (below + above) / 2;
}

/** The median of the known values; `null` when there are none. */
export function medianOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : median(known);
}
