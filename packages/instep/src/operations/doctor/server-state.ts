import type { Query } from '../../postgres/database.ts';

/** What the database server reports about itself. */
export type ServerState = {
  /** Such as 140012 for 14.12. */
  readonly versionNumber: number;
  readonly version: string;
  readonly fsync: string;
  readonly databaseBytes: number;
  /** In milliseconds since 1970. */
  readonly clockMs: number;
};

export async function readServerState(query: Query): Promise<ServerState> {
  const [row] = await query<ServerState>({
    name: 'read_server_state',
    text: `
      select current_setting('server_version_num')::integer as "versionNumber",
             current_setting('server_version') as version,
             current_setting('fsync') as fsync,
             pg_database_size(current_database()) as "databaseBytes",
             (extract(epoch from clock_timestamp()) * 1000)::bigint as "clockMs"`,
  });
  if (row === undefined) throw new RangeError('a statement without a table has one row');
  return row;
}

/** One round trip to the database. */
export async function touchServer(query: Query): Promise<void> {
  await query({ name: 'touch_server', text: 'select' });
}
