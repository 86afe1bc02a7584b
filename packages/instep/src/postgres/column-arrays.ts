/** The values of these properties, one list for each, as `unnest` expects them. */
export function columnArrays<Row>(
  rows: readonly Row[],
  ...names: readonly (keyof Row)[]
): readonly unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}
