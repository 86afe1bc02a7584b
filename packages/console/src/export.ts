import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { type CsvValue, csvLine, type Logger, type OperateContext } from 'instep-operate';

/** What a file has of each row, by the names of its columns. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => CsvValue>>;

type ExportedList<Row, Services> = {
  /** The file's name without `.csv`. */
  readonly name: string;
  readonly columns: Columns<Row>;
  readonly rows: (services: Services) => AsyncIterable<Row>;
};

/**
 * A whole list as CSV, if the address asks for one; `null`: a page. Once the download is cancelled, its search
 * sends no more statements.
 */
export function exportList<Row, Services extends Pick<OperateContext, 'database' | 'logger'>>(
  context: Context,
  services: Services,
  { name, columns, rows }: ExportedList<Row, Services>,
): Response | null {
  if (context.req.query('format') !== 'csv') return null;
  const { database, logger } = services;
  const query: OperateContext['database']['query'] = async (statement, values) => {
    context.req.raw.signal.throwIfAborted();
    return await database.query(statement, values);
  };
  const parts = csvOf(columns, rows({ ...services, database: { ...database, query } }));
  return sendFile(context, `${name}.csv`, parts, logger);
}

/**
 * Sends a file part by part, no faster than it is received, so that only one part is in memory. After
 * an error the connection is cut, and the browser reports that the download failed.
 */
export function sendFile(
  context: Context,
  name: string,
  parts: AsyncIterable<string>,
  logger: Logger,
): Response {
  async function* bytes() {
    const encoder = new TextEncoder();
    try {
      for await (const chunk of inChunks(parts)) yield encoder.encode(chunk);
    } catch (error) {
      const isCancelled = context.req.raw.signal.aborted;
      if (!isCancelled) logger.error({ err: error, file: name }, 'operations request failed');
      throw error;
    }
  }
  const stream = Readable.toWeb(Readable.from(bytes(), { highWaterMark: 1 }));
  return context.body(stream, 200, {
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': `attachment; filename="${name}"`,
  });
}

const CHUNK_LENGTH = 32_768;

async function* inChunks(parts: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let chunk = '';
  // The first chunk can have any length, so that the download begins before the first row is found.
  let least = 0;
  for await (const part of parts) {
    chunk += part;
    if (chunk.length < least) continue;
    yield chunk;
    chunk = '';
    least = CHUNK_LENGTH;
  }
  if (chunk !== '') yield chunk;
}

async function* csvOf<Row>(columns: Columns<Row>, rows: AsyncIterable<Row>) {
  yield csvLine(Object.keys(columns));
  const values = Object.values(columns);
  for await (const row of rows) yield csvLine(values.map((of) => of(row)));
}

/** A time in the format of exported files. */
export function exportedTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
