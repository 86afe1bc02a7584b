import { chmod, lstat, mkdir, mkdtemp, realpath, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifExists, PostgresFolderUnfit, systemErrorCode } from './errors.ts';
import { syncPath } from './publish-directory.ts';
import { type ServerUser, userOfNewCluster } from './server-user.ts';

/** Holds the data directories that PostgreSQL's user could not reach in the data folder. */
const SYSTEM_DIRECTORY = '/var/lib/instep';

type OnNotice = (message: string) => void;

/**
 * Finds or creates the data directory, which holds the cluster and everything that belongs to it:
 * `<data folder>/postgres`, or the target of a symbolic link of this name.
 *
 * The data directory itself stays ours, and only directories in it are given to PostgreSQL's user:
 * root must never work in a directory that another user can manipulate.
 * @throws PostgresFolderUnfit
 */
export async function openDataDirectory(dataFolder: string, onNotice: OnNotice): Promise<string> {
  const folder = await openDataFolder(dataFolder);
  const path = join(folder, 'postgres');
  const found = await findDataDirectory(path);
  if (found !== undefined) return found;
  const user = userOfNewCluster();
  const inaccessible = user.isSwitched ? await openToUser(folder, user, onNotice) : undefined;
  try {
    if (inaccessible === undefined) await createDataDirectory(path, user);
    else await createElsewhere(path, user, inaccessible, onNotice);
  } catch (error) {
    // Another process was first, and its data directory is used.
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  }
  const opened = await findDataDirectory(path);
  if (opened !== undefined) return opened;
  throw new PostgresFolderUnfit(`${path} was deleted during the start: start again`);
}

/** Whether a database was ever created in this data folder; creates nothing. */
export async function hasDataDirectory(dataFolder: string): Promise<boolean> {
  try {
    return (await ifExists(lstat(join(dataFolder, 'postgres')))) !== undefined;
  } catch {
    // Opening it explains what is wrong.
    return true;
  }
}

/**
 * The outermost directory on the way to `path`, itself included, that `user` can't enter, judged by
 * owner and mode; `undefined` when there is none. `path` is absolute and has no symbolic links.
 */
export async function findInaccessible(
  path: string,
  user: ServerUser,
): Promise<string | undefined> {
  const parent = dirname(path);
  const outer = parent === path ? undefined : await findInaccessible(parent, user);
  if (outer !== undefined) return outer;
  const { uid, gid, mode } = await stat(path);
  const enter = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return (mode & enter) === 0 ? path : undefined;
}

/** Creates the data folder if there is none. @returns its path without symbolic links */
async function openDataFolder(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true });
    return await realpath(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PostgresFolderUnfit(
      `can't create the data folder (${reason}): set INSTEP_DATA to a folder that you can write`,
      { cause },
    );
  }
}

async function findDataDirectory(path: string): Promise<string | undefined> {
  if ((await ifExists(lstat(path))) === undefined) return undefined;
  const target = await ifExists(realpath(path));
  if (target !== undefined) return target;
  throw new PostgresFolderUnfit(
    `the link ${path} leads to the database's folder, which is gone: restore that folder, or ` +
      'delete the link to start with an empty database',
  );
}

/**
 * Lets `user` enter the data folder if that folder is ours and the only obstacle, because a folder that was
 * mounted there is meant to hold the database. Others can then enter it, but not list it.
 * @returns the directory that the user still can't enter
 */
async function openToUser(
  folder: string,
  user: ServerUser,
  onNotice: OnNotice,
): Promise<string | undefined> {
  const inaccessible = await findInaccessible(folder, user);
  if (inaccessible !== folder) return inaccessible;
  const { uid, mode } = await stat(folder);
  if (uid !== process.getuid?.()) return inaccessible;
  await chmod(folder, (mode & 0o7777) | 0o001);
  onNotice(`PostgreSQL runs as user id ${user.uid}: opened ${folder} for it (chmod o+x)`);
  return undefined;
}

async function createDataDirectory(path: string, user: ServerUser): Promise<void> {
  await mkdir(path);
  await chmod(path, user.isSwitched ? 0o711 : 0o700);
  await syncPath(dirname(path));
}

/** The name is random instead of derived from the path: deleting the data folder gives an empty database. */
async function createElsewhere(
  path: string,
  user: ServerUser,
  inaccessible: string,
  onNotice: OnNotice,
): Promise<void> {
  await mkdir(SYSTEM_DIRECTORY, { recursive: true });
  await chmod(SYSTEM_DIRECTORY, 0o711);
  const directory = await mkdtemp(join(SYSTEM_DIRECTORY, 'data-'));
  try {
    await chmod(directory, 0o711);
    await symlink(directory, path);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
  await syncPath(SYSTEM_DIRECTORY);
  await syncPath(dirname(path));
  onNotice(
    `PostgreSQL runs as user id ${user.uid}, which can't enter ${inaccessible}: its files are in ` +
      `${directory}, and ${path} is a link to it. Keep both; to start with an empty database, ` +
      'delete both.',
  );
}
