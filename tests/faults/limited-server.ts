import { spawnSync } from 'node:child_process';
import type { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { SETTINGS, type SpawnedInstep, spawnInstep } from '../support/process/instep-process.ts';

export type LimitedServer = { readonly url: string; readonly instep: SpawnedInstep };

/** Whether the limits of another process can be set. */
export const canLimit = () => spawnSync('prlimit', ['--version']).status === 0;

/**
 * Starts the real server, limits how many files, sockets among them, it may have open, and then
 * starts its database, for which it waits. With the limit at its start it could not listen: Node
 * opens the files of all modules at once.
 */
export async function startLimitedServer(
  cluster: PostgresCluster,
  openFiles: number,
): Promise<LimitedServer> {
  const instep = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL: cluster.url.href });
  await instep.writes(/waiting for the database/);
  const { status } = spawnSync('prlimit', [`--pid=${instep.process.pid}`, `--nofile=${openFiles}`]);
  if (status !== 0) throw new Error(`prlimit ended with ${status}`);
  await cluster.start();
  await instep.writes(/"listening"/);
  const [, url = ''] = /"url":"([^"]+)"/.exec(instep.stdout) ?? [];
  return { url, instep };
}
