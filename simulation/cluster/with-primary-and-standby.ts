import type { PoolOptions } from 'instep-engine/postgres';
import { type Database, openDatabase } from 'instep-engine/src/postgres/database.ts';
import { parseDatabaseUrl } from 'instep-engine/src/postgres/database-url.ts';
import { startProxy, type TcpProxy } from '../../tests/support/network/tcp-proxy.ts';
import type { PostgresCluster } from '../../tests/support/postgres/postgres-cluster.ts';
import { startPair } from '../../tests/support/postgres/primary-and-standby.ts';

type PrimaryAndStandby = {
  readonly servers: readonly [primary: PostgresCluster, standby: PostgresCluster];
  /** The address of the primary, as that of HAProxy. */
  readonly proxy: TcpProxy;
  /** Opens a connection pool through the proxy. */
  open(options: PoolOptions): Database;
};

/** Runs a simulation on a migrated primary and its synchronous standby, which are removed afterward. */
export async function withPrimaryAndStandby<Result>(
  work: (pair: PrimaryAndStandby) => Promise<Result>,
): Promise<Result> {
  const servers = await startPair();
  const proxy = await startProxy(servers[0].url);
  const connection = parseDatabaseUrl(proxy.url.href).connection;
  const remove = async () => {
    await proxy.close();
    await Promise.all(servers.map((server) => server.remove()));
  };
  const end = () => void remove().finally(() => process.exit(1));
  process.once('SIGINT', end).once('SIGTERM', end);
  try {
    return await work({ servers, proxy, open: (pool) => openDatabase({ ...pool, connection }) });
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
    await remove();
  }
}
