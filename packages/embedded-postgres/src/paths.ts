import { createHash } from 'node:crypto';
import { access, chown, constants, lstat, mkdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DATABASE, hasCluster, USER } from './cluster.ts';
import { ID_FILE, openDataDirectory } from './data-directory.ts';
import { ifExists, PostgresFolderUnfit, systemErrorCode } from './errors.ts';
import { findPostgresPackage, type PostgresPackage } from './postgres-package.ts';
import type { Connection } from './presence-lock.ts';
import type { ServerUser } from './server-user.ts';

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
 * Finds or creates the directories of the database in `dataFolder`, without starting PostgreSQL.
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
  const host = await chooseSocketDirectory(dataDirectory);
  return {
    dataDirectory,
    cluster,
    log: join(dataFolder, 'postgres.log'),
    connection: { host, port: PORT, user: USER, database: DATABASE, ssl: false },
    installed,
  };
}

/**
 * The directory of the socket: in the data directory, or in one for temporary files if that path is too long.
 * All processes choose the same directory, and no other data directory shares it, not even a copy of this one
 * or a later one at the same path. It need not exist yet.
 * @throws PostgresFolderUnfit when every path is too long
 */
export async function chooseSocketDirectory(dataDirectory: string): Promise<string> {
  const inside = join(dataDirectory, 'socket');
  if (isShortEnough(inside)) return inside;
  const { dev, ino } = await stat(dataDirectory, { bigint: true });
  const id = await readFile(join(dataDirectory, ID_FILE), 'utf8');
  const name = createHash('sha256').update(`${id.trim()} ${dev} ${ino}`).digest('hex').slice(0, 16);
  for (const temporary of ['/tmp', tmpdir()]) {
    const directory = join(temporary, `instep-${name}`);
    if (isShortEnough(directory) && (await isWritable(temporary))) return directory;
  }
  throw new PostgresFolderUnfit(
    `the path ${dataDirectory} is too long for a socket, and there is no short folder for ` +
      'temporary files: set INSTEP_DATA to a shorter path',
  );
}

/**
 * Creates the directory of the socket, private to `user`.
 * @throws PostgresFolderUnfit when another user has one of this name
 */
export async function createSocketDirectory(path: string, user: ServerUser): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  }
  await checkSocketDirectory(path, user);
  if ((await lstat(path)).uid !== user.uid) await chown(path, user.uid, user.gid);
}

/**
 * Makes sure that no other user can listen on the socket, if its directory exists.
 * @throws PostgresFolderUnfit
 */
export async function checkSocketDirectory(path: string, user: ServerUser): Promise<void> {
  const found = await ifExists(lstat(path));
  if (found === undefined) return;
  const isOurs = found.uid === user.uid || found.uid === process.getuid?.();
  if (found.isDirectory() && isOurs && (found.mode & 0o077) === 0) return;
  throw new PostgresFolderUnfit(
    `${path} is not a private folder of user id ${user.uid}: delete it, and start again`,
  );
}

function isShortEnough(directory: string): boolean {
  return Buffer.byteLength(join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
}

async function isWritable(directory: string): Promise<boolean> {
  return await access(directory, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
