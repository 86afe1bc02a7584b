import { createHash } from 'node:crypto';
import { access, chown, constants, lstat, mkdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ID_FILE } from './data-directory.ts';
import { PostgresFolderUnfit } from './embedded-postgres-errors.ts';
import type { ServerUser } from './server-user.ts';
import { systemErrorCode } from './system-error-code.ts';

/** PostgreSQL names its socket after a port, though it listens on none. */
export const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/** The longest path of a Unix socket: 107 bytes on Linux, 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * The folder of the socket: within the home, or a short one for temporary files when the home's
 * path is too long. The same for every process, and no other home's: not even that of a copy of
 * this home, or of a later one in its place. It need not be there.
 * @throws PostgresFolderUnfit when no folder for temporary files will do
 */
export async function chooseSocketFolder(home: string): Promise<string> {
  const within = join(home, 'socket');
  if (isShortEnough(within)) return within;
  const { dev, ino } = await stat(home, { bigint: true });
  const id = await readFile(join(home, ID_FILE), 'utf8');
  const name = createHash('sha256').update(`${id.trim()} ${dev} ${ino}`).digest('hex').slice(0, 16);
  for (const temporary of ['/tmp', tmpdir()]) {
    const folder = join(temporary, `instep-${name}`);
    if (isShortEnough(folder) && (await isWritable(temporary))) return folder;
  }
  throw new PostgresFolderUnfit(
    `the path ${home} is too long for a socket, and there is no short folder for temporary ` +
      'files: set INSTEP_DATA to a shorter path',
  );
}

/**
 * Makes the folder of the socket, private to `user`.
 * @throws PostgresFolderUnfit when somebody else has one by that name
 */
export async function makeSocketFolder(folder: string, user: ServerUser): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  }
  const found = await lstat(folder);
  const isOurs = found.uid === user.uid || found.uid === process.getuid?.();
  if (!found.isDirectory() || !isOurs || (found.mode & 0o077) !== 0) {
    throw new PostgresFolderUnfit(
      `${folder} is not a private folder of user id ${user.uid}: delete it, and try again`,
    );
  }
  if (found.uid !== user.uid) await chown(folder, user.uid, user.gid);
}

function isShortEnough(folder: string): boolean {
  return Buffer.byteLength(join(folder, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
