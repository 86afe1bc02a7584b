import type { PoolOptions } from 'instep/src/postgres/connect.ts';
import { type Database, openDatabase } from 'instep/src/postgres/database.ts';
import type { PostgresCluster } from '../../tests/support/postgres/postgres-cluster.ts';
import { startPair } from '../../tests/support/postgres/primary-and-standby.ts';

type PrimaryAndStandby = {
  readonly servers: readonly [primary: PostgresCluster, standby: PostgresCluster];
  /** Opens a connection pool to whichever server is the primary. */
  open(options: PoolOptions): Database;
};

/** Runs a simulation on a migrated primary and its synchronous standby, which are removed afterward. */
export async function withPrimaryAndStandby<Result>(
  work: (pair: PrimaryAndStandby) => Promise<Result>,
): Promise<Result> {
  const servers = await startPair();
  const remove = () => Promise.all(servers.map((server) => server.remove()));
  const end = () => void remove().finally(() => process.exit(1));
  process.once('SIGINT', end).once('SIGTERM', end);
  const connections = servers.map(({ url }) => ({ connectionString: url.href }));
  try {
    return await work({ servers, open: (pool) => openDatabase({ ...pool, connections }) });
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
    await remove();
  }
}
