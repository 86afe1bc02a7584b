// CSV, for the command `instep audit` and the console's exports.

export type CsvValue = string | number | boolean | null;

/**
 * A line of CSV with its end. A text that a spreadsheet would take for a formula gets an apostrophe in front.
 *
 * @example
 * ```ts
 * import { csvLine } from 'instep/operate';
 *
 * console.log(csvLine(['Acme, Inc.', 7, null]).trim()); // "Acme, Inc.",7,
 * ```
 */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
