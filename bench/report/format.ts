/** Shown for a value that was not measured. */
export const NONE = '–';

/** A number with three significant digits. */
export function figure(value: number | null, unit = ''): string {
  if (value === null || !Number.isFinite(value)) return NONE;
  return `${Number(value.toPrecision(3)).toLocaleString('en')}${unit}`;
}

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}
