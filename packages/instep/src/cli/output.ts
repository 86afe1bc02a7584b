// How commands print: data to standard output, messages to standard error, and untrusted text without control
// characters.

import { once } from 'node:events';
import { stripVTControlCharacters, styleText } from 'node:util';
import { CodedError } from 'instep-engine/runtime';

/** A command has not done what was asked. docs/errors.md has the cause and remedy of each code. */
export class CommandFailed extends CodedError<string> {}

/** A command's result. */
export type Data = Readonly<Record<string, unknown>>;

/** Whether results are printed for programs. */
export type Json = { json?: boolean | undefined };

/** Prints a result as `name  value` lines, or as one JSON object. */
export function printData(data: Data, { json }: Json): void {
  const width = Math.max(...Object.keys(data).map((name) => name.length));
  const lines = Object.entries(data).map(([name, value]) =>
    tableLine([['', width]], [paint('gray', name), shownValue(value)]),
  );
  print(json ? JSON.stringify(data) : lines.join('\n'));
}

/** A value for people: that of an object or an array by what is in it. */
function shownValue(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object') return printable(String(value));
  const known = Object.values(value).filter((one) => one !== null);
  return known.map(shownValue).join(', ') || '-';
}

export type Columns = readonly (readonly [name: string, width: number])[];

export function tableHead(columns: Columns): string {
  return tableLine(
    columns,
    columns.map(([name]) => paint('gray', name)),
  );
}

/** A line of a table. Cells without a column come last. */
export function tableLine(columns: Columns, cells: readonly string[]): string {
  const padded = cells.map((cell, index) => {
    const hidden = cell.length - stripVTControlCharacters(cell).length;
    return cell.padEnd((columns[index]?.[1] ?? 0) + hidden);
  });
  return padded.join('  ').trimEnd();
}

/** Aborted when the reader of standard output has closed it. */
export const outputClosed = new AbortController();
process.stdout.once('close', () => outputClosed.abort());

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Resolves with the first signal that asks the process to end. A second SIGINT or SIGTERM ends it at once,
 * without losing any event that got a 200.
 */
export function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    // A closing terminal can send SIGHUP several times, so a second one must not end the process at once.
    process.on('SIGHUP', resolve);
    let count = 0;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        count += 1;
        if (count > 1) process.exit(1);
        resolve(signal);
      });
    }
  });
}

/** Returns a signal that aborts when the process is first asked to end. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  void nextSignal().then(() => stop.abort());
  return stop.signal;
}

/** Writes a line to standard output at its reader's pace. Returns false when the reader is gone. */
export async function writeLine(line: string): Promise<boolean> {
  const { signal } = outputClosed;
  if (!signal.aborted && !process.stdout.write(`${line}\n`)) {
    await once(process.stdout, 'drain', { signal }).catch(() => undefined);
  }
  return !signal.aborted;
}

/** How rows of one kind are printed: some of their data in the columns of a table, or all of it as JSON lines. */
export type RowFormat<Row> = {
  readonly columns: Columns;
  readonly data: (row: Row) => Data;
};

/** Returns false when the reader is gone. */
export async function writeRow<Row>(
  { columns, data }: RowFormat<Row>,
  row: Row,
  { json }: Json,
): Promise<boolean> {
  const values = data(row);
  const cells = columns.map(([name]) => shownValue(values[name]));
  return await writeLine(json ? JSON.stringify(values) : tableLine(columns, cells));
}

/** Writes up to `limit` rows, below the headings. Returns their number. */
export async function writeRows<Row>(
  format: RowFormat<Row>,
  rows: AsyncIterable<Row> | Iterable<Row>,
  { json, limit }: Json & { readonly limit: number },
): Promise<number> {
  let count = 0;
  for await (const row of rows) {
    if (count === 0 && !json) await writeLine(tableHead(format.columns));
    count += 1;
    if (!(await writeRow(format, row, { json })) || count === limit) break;
  }
  return count;
}

/** Escapes untrusted text for a terminal, so that nothing in it can move the cursor. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** The same for the lines of a text. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** A time in UTC to the second. */
export function shownTime(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ').replace(/\.\d+/, '');
}

type Format = Parameters<typeof styleText>[0];

/** Colors text if standard output is a terminal, unless NO_COLOR is set (no-color.org). */
export function paint(format: Format, text: string): string {
  return process.stdout.isTTY && !process.env.NO_COLOR ? styleText(format, text) : text;
}

/** Writes data to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a message, which is not data, to standard error. */
export function printMessage(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Shows how far something is that begins now, in place of what it showed before. Only on a terminal. */
export function startProgress(name: string) {
  const startedAtMs = Date.now();
  const write = (line: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${line}\u001b[K`);
  };
  const text = (done: string, share: number): string => {
    const bar = '█'.repeat(Math.round(share * 10)).padEnd(10, '░');
    const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
    return `${name}: ${done} ${bar} ${Math.round(share * 100)} %  ${seconds} s`;
  };
  return {
    text,
    show: (done: string, share: number) => write(text(done, share)),
    clear: () => write(''),
  };
}
