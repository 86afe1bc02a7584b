import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { type CsvValue, csvLine, type Logger } from 'instep-operate';

/** What a file has of each row, by the names of its columns. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => CsvValue>>;

type ExportedList<Row> = {
  /** The file's name without `.csv`. */
  readonly name: string;
  readonly columns: Columns<Row>;
  readonly rows: AsyncIterable<Row>;
};

/**
 * A whole list as CSV, if the address asks for one; `null`: a page. It is read no faster than it is received, so that
 * only a part is in memory. After an error the connection is cut, and the browser reports that the download failed.
 */
export function exportList<Row>(
  context: Context,
  logger: Logger,
  { name, columns, rows }: ExportedList<Row>,
): Response | null {
  if (context.req.query('format') !== 'csv') return null;
  const file = `${name}.csv`;

  async function* bytes() {
    const encoder = new TextEncoder();
    try {
      for await (const chunk of csvOf(columns, rows)) yield encoder.encode(chunk);
    } catch (error) {
      logger.error({ err: error, file }, 'operations request failed');
      throw error;
    }
  }

  const stream = Readable.toWeb(Readable.from(bytes(), { highWaterMark: 1 }));
  return context.body(stream, 200, {
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': `attachment; filename="${file}"`,
  });
}

const CHUNK_LENGTH = 32_768;

/** The head alone comes first, so that the download begins before the first row is found. */
async function* csvOf<Row>(columns: Columns<Row>, rows: AsyncIterable<Row>) {
  yield csvLine(Object.keys(columns));
  const values = Object.values(columns);
  let chunk = '';
  for await (const row of rows) {
    chunk += csvLine(values.map((of) => of(row)));
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** A time in the format of exported files. */
export function exportedTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
