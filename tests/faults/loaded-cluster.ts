import { expect } from 'vitest';
import { migrate } from '../support/internals/database.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { connect } from '../support/postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../support/process/instep-process.ts';
import { type Figures, type Load, type LoadOptions, startLoad } from './load.ts';

type LoadedCluster = {
  readonly cluster: PostgresCluster;
  readonly server: InstepProcess;
  readonly load: Load;
};

type ClusterOptions = Omit<LoadOptions, 'url'> & {
  /** The folder of the cluster; by default, a new one. */
  readonly home?: string;
  /** Can put a proxy between the server and the cluster. */
  readonly reach?: (databaseUrl: URL) => Promise<URL>;
  readonly environment?: Readonly<Record<string, string>>;
};

/**
 * Does this to a PostgreSQL of its own, while senders post events to a server of Instep. Afterward, whatever was refused
 * must have got a 503, and what was acknowledged must be there.
 */
export async function underLoad(
  options: ClusterOptions,
  work: (loaded: LoadedCluster) => Promise<unknown>,
): Promise<Figures> {
  const { home, reach = async (url) => url, environment = {}, ...loadOptions } = options;
  const cluster = await PostgresCluster.create(home);
  await cluster.start();
  const database = connect(cluster.url);
  try {
    await migrate(database);
    const { href } = await reach(cluster.url);
    const server = await startInstep({ DATABASE_URL: href, ...environment });
    const load = await startLoad(database, { url: () => server.url, ...loadOptions });
    await work({ cluster, server, load });
    await load.finish();
    await server.stop();
    expect([...load.refusals].filter((answer) => answer !== 503)).toEqual([]);
    return await load.audit(database);
  } finally {
    await database.close();
    await cluster.remove();
  }
}
