import pg from 'pg';
import { takeSearchPath } from './database-url.ts';
import { databaseError, sqlState } from './errors.ts';

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

/** The state of a server that shows whether it is the primary. */
export type ReplicationState = {
  /** The server's actual role, regardless of settings of the session or the database. */
  readonly isStandby: boolean;
  /** The same for a server and its copies; `null` when the role can't read it. */
  readonly systemId: string | null;
  /** Grows by 1 with each promotion; `null` when the role can't read it. */
  readonly timeline: number | null;
};

type ReadRow = (text: string) => Promise<ReplicationState | undefined>;

const IS_STANDBY = 'pg_is_in_recovery() as "isStandby"';

/**
 * Any role can read this by default. A standby reports the timeline that it receives, which only a role with
 * pg_read_all_stats can read. For other roles it is the timeline of the last checkpoint, which can be older.
 */
const READ_STATE = `
  select ${IS_STANDBY},
         (select system_identifier::text from pg_control_system()) as "systemId",
         case when pg_is_in_recovery()
              then coalesce((select received_tli from pg_stat_wal_receiver),
                            (select timeline_id from pg_control_checkpoint()))
              else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
         end as timeline`;

const READ_WITHOUT_TIMELINE = `
  select ${IS_STANDBY}, null as "systemId", null as timeline`;

/** PostgreSQL's states for a missing privilege or function. */
const NOT_READABLE = new Set(['42501', '42883']);

/** Reads the state by a function that runs a statement and returns its row. */
export async function readReplicationState(readRow: ReadRow): Promise<ReplicationState> {
  const row = await readRow(READ_STATE).catch(async (error: unknown) => {
    if (!NOT_READABLE.has(sqlState(error))) throw error;
    return await readRow(READ_WITHOUT_TIMELINE);
  });
  return row ?? { isStandby: true, systemId: null, timeline: null };
}
