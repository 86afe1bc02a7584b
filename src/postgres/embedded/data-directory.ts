import { randomBytes } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  realpath,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { canOwnFolderIn, checkAccess } from './access-check.ts';
import { PostgresFolderUnfit } from './embedded-postgres-errors.ts';
import { findInaccessibleFolder } from './inaccessible-folder.ts';
import { publishFolder, syncFolder } from './publish-folder.ts';
import { type ServerUser, userOfNewCluster } from './server-user.ts';
import { systemErrorCode } from './system-error-code.ts';

/** Where the files go that PostgreSQL's user could not reach in the data folder. */
const FOLDER_OF_HOMES = '/var/lib/instep';

/** Within a home: a random text that no other home has, other than a copy of this one. */
export const ID_FILE = 'id';

/**
 * Finds, or makes, the folder that holds the cluster and what belongs to it: `<data>/postgres`,
 * or the folder that a symbolic link of this name leads to.
 *
 * The home itself stays ours, and only folders within it are given to PostgreSQL's user: as root
 * we never work in a folder where somebody else can lay traps.
 * @throws PostgresFolderUnfit
 */
export async function openDataDirectory(
  data: string,
  notice: (message: string) => void,
): Promise<string> {
  const path = join(data, 'postgres');
  const found = await findHome(path);
  if (found !== undefined) return found;
  const user = await userOfNewCluster();
  const obstacle = await checkAccess(data, user, notice);
  if (obstacle === undefined) {
    const home = join(data, `postgres.new-${randomBytes(8).toString('hex')}`);
    await furnish(home, user);
    await publishFolder(home, path);
  } else {
    await makeHomeElsewhere(path, user, obstacle, notice);
  }
  const made = await findHome(path);
  if (made === undefined) throw new PostgresFolderUnfit(`${path} was deleted while we began`);
  return made;
}

/** Whether a database was ever made in this data folder; nothing is made by asking. */
export async function hasDataDirectory(data: string): Promise<boolean> {
  try {
    await lstat(join(data, 'postgres'));
    return true;
  } catch (error) {
    // Whatever else is the matter with the folder, opening it says what to do.
    return systemErrorCode(error) !== 'ENOENT';
  }
}

/** How much PostgreSQL's user may still write there, in bytes. */
export async function freeBytesOf(data: string): Promise<number> {
  const { bavail, bsize } = await statfs(join(data, 'postgres'));
  return bavail * bsize;
}

/** Makes the data folder if there is none. @returns its path without symbolic links */
export async function openDataFolder(path: string): Promise<string> {
  try {
    const made = await mkdir(path, { recursive: true });
    // A strict umask of root would close the folder that is meant for PostgreSQL's user.
    if (made !== undefined && process.getuid?.() === 0) await chmod(path, 0o711);
    return await realpath(path);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new PostgresFolderUnfit(
      `the data folder cannot be made (${message}): set INSTEP_DATA to a folder that you can write`,
      { cause },
    );
  }
}

async function findHome(path: string): Promise<string | undefined> {
  try {
    await lstat(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const home = await realpath(path);
    if ((await stat(home)).isDirectory()) return home;
  } catch (cause) {
    if (systemErrorCode(cause) !== 'ENOENT') throw cause;
    throw new PostgresFolderUnfit(
      `the link ${path} leads to the database's folder, which is gone: bring that folder back, ` +
        'or delete the link to begin with an empty database',
      { cause },
    );
  }
  throw new PostgresFolderUnfit(`${path} is not a folder: move it away, or set INSTEP_DATA`);
}

async function makeHomeElsewhere(
  path: string,
  user: ServerUser,
  obstacle: string,
  notice: (message: string) => void,
): Promise<void> {
  const reason = `PostgreSQL runs as user id ${user.uid}, which ${obstacle}`;
  // Random, and not made from the path: who deletes the data folder gets an empty database.
  const home = join(FOLDER_OF_HOMES, randomBytes(8).toString('hex'));
  try {
    await mkdir(FOLDER_OF_HOMES, { recursive: true });
    await chmod(FOLDER_OF_HOMES, 0o711);
    await furnish(home, user);
    await writeFile(join(home, 'made-for'), `${path}\n`);
    const closed = await findInaccessibleFolder(await realpath(home), user);
    if (closed !== undefined) throw new Error(`it cannot enter ${closed} either`);
    if (!(await canOwnFolderIn(home, user))) throw new Error('it cannot own a folder there either');
  } catch (cause) {
    await rm(home, { recursive: true, force: true });
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new PostgresFolderUnfit(
      `${reason}; nor can its files go to ${FOLDER_OF_HOMES} (${message}): set INSTEP_DATA to a ` +
        'folder that it can enter, run as an ordinary user, or set DATABASE_URL',
      { cause },
    );
  }
  try {
    await symlink(home, path);
  } catch (error) {
    await rm(home, { recursive: true, force: true });
    // Another process was first: its home counts.
    if (systemErrorCode(error) === 'EEXIST') return;
    throw error;
  }
  await syncFolder(FOLDER_OF_HOMES);
  await syncFolder(join(path, '..'));
  notice(
    `${reason}: its files are in ${home}, and ${path} leads there. Keep both, and to begin anew ` +
      'delete both.',
  );
}

async function furnish(home: string, user: ServerUser): Promise<void> {
  const mode = user.isSwitched ? 0o711 : 0o700;
  await mkdir(home);
  await chmod(home, mode);
  await writeFile(join(home, ID_FILE), `${randomBytes(16).toString('hex')}\n`, { flush: true });
}
