import { spawnSync } from 'node:child_process';
import { migrate } from 'instep/src/postgres/migrate.ts';
import type { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { connect } from '../support/postgres/test-database.ts';
import { SETTINGS, type SpawnedInstep, spawnInstep } from '../support/process/instep-process.ts';

type LimitedServer = { readonly url: string; readonly instep: SpawnedInstep };

/** Whether the limits of another process can be set. */
export const canLimit = () => spawnSync('prlimit', ['--version']).status === 0;

/** Starts the real server with a limit of open files, including sockets. */
export async function startLimitedServer(
  cluster: PostgresCluster,
  openFiles: number,
): Promise<LimitedServer> {
  await cluster.start();
  const database = connect(cluster.url);
  await migrate(database);
  await database.close();
  const instep = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL: cluster.url.href });
  // This happens long before the server has loaded its modules and reads the limit.
  const { status } = spawnSync('prlimit', [`--pid=${instep.process.pid}`, `--nofile=${openFiles}`]);
  if (status !== 0) throw new Error(`prlimit ended with ${status}`);
  await instep.writes(/"listening"/);
  const [, url = ''] = /"url":"([^"]+)"/.exec(instep.stdout) ?? [];
  return { url, instep };
}
