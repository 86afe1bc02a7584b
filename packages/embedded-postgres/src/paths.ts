import { join } from 'node:path';
import { DATABASE, hasCluster, USER } from './cluster.ts';
import { openDataDirectory } from './data-directory.ts';
import { PostgresFolderUnfit } from './errors.ts';
import { findPostgresPackage, type PostgresPackage } from './postgres-package.ts';
import type { Connection } from './presence-lock.ts';

/** The locations of an embedded database's parts. All paths are absolute and never change. */
export type EmbeddedPaths = {
  /** Holds the others, and copies of PostgreSQL's programs if they are needed. */
  readonly dataDirectory: string;
  readonly cluster: string;
  readonly log: string;
  readonly connection: Connection;
  readonly installed: PostgresPackage;
};

/** PostgreSQL names its socket after a port, although it does not listen on it. */
export const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/** The longest path of a Unix socket: 107 bytes on Linux, 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * Finds or creates the directories of the database in `dataFolder`, without starting PostgreSQL. No user but
 * ours can create or replace the directory of the socket, because it is in the data directory.
 * @throws PostgresMissing, PostgresFolderUnfit, PostgresVersionDiffers
 */
export async function openPaths(
  dataFolder: string,
  onNotice: (message: string) => void,
): Promise<EmbeddedPaths> {
  const installed = await findPostgresPackage();
  const dataDirectory = await openDataDirectory(dataFolder, onNotice);
  const cluster = join(dataDirectory, 'cluster');
  await hasCluster(cluster, installed.major);
  const host = join(dataDirectory, 'socket');
  const excessBytes = Buffer.byteLength(join(host, SOCKET_NAME)) - MAX_SOCKET_PATH_BYTES;
  if (excessBytes > 0) {
    throw new PostgresFolderUnfit(
      `the path ${dataDirectory} is too long for PostgreSQL's socket, by ${excessBytes} bytes: set ` +
        'INSTEP_DATA to a shorter path',
    );
  }
  return {
    dataDirectory,
    cluster,
    log: join(dataFolder, 'postgres.log'),
    connection: { host, port: PORT, user: USER, database: DATABASE, ssl: false },
    installed,
  };
}
