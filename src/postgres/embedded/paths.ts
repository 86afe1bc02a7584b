import { join } from 'node:path';
import { DATABASE, hasCluster, USER } from './cluster.ts';
import { openDataDirectory, openDataFolder } from './data-directory.ts';
import { findPostgresPackage, type PostgresPackage } from './postgres-package.ts';
import type { Connection } from './presence-lock.ts';
import { chooseSocketFolder, PORT } from './socket-folder.ts';

/** Where one embedded database has its things. All paths are absolute and stay the same. */
export type EmbeddedPaths = {
  /** What holds the others, and copies of PostgreSQL's programs if there must be any. */
  readonly home: string;
  readonly cluster: string;
  readonly socketFolder: string;
  readonly log: string;
  readonly connection: Connection;
  readonly installed: PostgresPackage;
};

/**
 * Finds or makes the folders of the database that lives in `dataFolder`; PostgreSQL is not touched.
 * @throws PostgresMissing, PostgresFolderUnfit, PostgresVersionDiffers
 */
export async function openPaths(
  dataFolder: string,
  notice: (message: string) => void,
): Promise<EmbeddedPaths> {
  const installed = await findPostgresPackage();
  const data = await openDataFolder(dataFolder);
  const home = await openDataDirectory(data, notice);
  const cluster = join(home, 'cluster');
  await hasCluster(cluster, installed.major);
  const socketFolder = await chooseSocketFolder(home);
  return {
    home,
    cluster,
    socketFolder,
    log: join(data, 'postgres.log'),
    connection: { host: socketFolder, port: PORT, user: USER, database: DATABASE, ssl: false },
    installed,
  };
}
