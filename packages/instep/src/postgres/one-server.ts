import pg from 'pg';
import { databaseError } from './errors.ts';
import { takeSearchPath } from './search-path.ts';

/** Runs a statement without values, and returns its rows. */
export type Ask = <Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>;

const TIMEOUT_MS = 2_000;

/**
 * Runs statements on this server, whether it is the primary or a standby; `openDatabase` uses the
 * primary only.
 *
 * @throws the errors of `errors.ts`
 */
export async function onServer<Result>(
  url: URL,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: takeSearchPath(url).url.href,
    application_name: 'instep',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // The statement on this connection fails with the same error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(
      async <Row extends pg.QueryResultRow>(text: string) => (await client.query<Row>(text)).rows,
    );
  } catch (error) {
    throw databaseError(error);
  } finally {
    void client.end().catch(() => undefined);
    // A frozen server never closes the connection.
    client.connection.stream.destroy();
  }
}
