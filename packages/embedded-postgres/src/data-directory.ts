import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canOwnFolderIn, checkAccess, findInaccessible } from './access-check.ts';
import { ifExists, PostgresFolderUnfit, systemErrorCode } from './errors.ts';
import { publishDirectory, syncDirectory } from './publish-directory.ts';
import { type ServerUser, userOfNewCluster } from './server-user.ts';

/** Holds the data directories that PostgreSQL's user could not reach in the data folder. */
const SYSTEM_DIRECTORY = '/var/lib/instep';

/** A file in the data directory with random text, which only a copy of the directory shares. */
export const ID_FILE = 'id';

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
  const user = await userOfNewCluster();
  const obstacle = await checkAccess(folder, user, onNotice);
  if (obstacle === undefined) {
    const created = join(folder, `postgres.new-${randomBytes(8).toString('hex')}`);
    await createDataDirectory(created, user);
    await publishDirectory(created, path);
  } else {
    await createElsewhere(path, user, obstacle, onNotice);
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

/** Creates the data folder if there is none. @returns its path without symbolic links */
async function openDataFolder(path: string): Promise<string> {
  try {
    const created = await mkdir(path, { recursive: true });
    // With a strict umask of root, PostgreSQL's user could not enter it.
    if (created !== undefined && process.getuid?.() === 0) await chmod(path, 0o711);
    return await realpath(path);
  } catch (cause) {
    throw new PostgresFolderUnfit(
      `can't create the data folder (${messageOf(cause)}): set INSTEP_DATA to a folder that you ` +
        'can write',
      { cause },
    );
  }
}

async function findDataDirectory(path: string): Promise<string | undefined> {
  if ((await ifExists(lstat(path))) === undefined) return undefined;
  const target = await ifExists(realpath(path));
  if (target === undefined) {
    throw new PostgresFolderUnfit(
      `the link ${path} leads to the database's folder, which is gone: restore that folder, or ` +
        'delete the link to start with an empty database',
    );
  }
  if ((await stat(target)).isDirectory()) return target;
  throw new PostgresFolderUnfit(`${path} is not a folder: move it away, or set INSTEP_DATA`);
}

async function createElsewhere(
  path: string,
  user: ServerUser,
  obstacle: string,
  onNotice: OnNotice,
): Promise<void> {
  const reason = `PostgreSQL runs as user id ${user.uid}, which ${obstacle}`;
  // Random instead of derived from the path: deleting the data folder gives an empty database.
  const directory = join(SYSTEM_DIRECTORY, randomBytes(8).toString('hex'));
  try {
    await mkdir(SYSTEM_DIRECTORY, { recursive: true });
    await chmod(SYSTEM_DIRECTORY, 0o711);
    await createDataDirectory(directory, user);
    await writeFile(join(directory, 'made-for'), `${path}\n`);
    const inaccessible = await findInaccessible(await realpath(directory), user);
    if (inaccessible !== undefined) throw new Error(`it can't enter ${inaccessible} either`);
    if (!(await canOwnFolderIn(directory, user))) throw new Error("it can't own a folder there");
  } catch (cause) {
    await rm(directory, { recursive: true, force: true });
    throw new PostgresFolderUnfit(
      `${reason}, and ${SYSTEM_DIRECTORY} can't hold its files (${messageOf(cause)}): set ` +
        'INSTEP_DATA to a folder that it can enter, run as an ordinary user, or set DATABASE_URL',
      { cause },
    );
  }
  try {
    await symlink(directory, path);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    // Another process was first, and its data directory is used.
    if (systemErrorCode(error) === 'EEXIST') return;
    throw error;
  }
  await syncDirectory(SYSTEM_DIRECTORY);
  await syncDirectory(join(path, '..'));
  onNotice(
    `${reason}: its files are in ${directory}, and ${path} is a link to it. Keep both; to start ` +
      'with an empty database, delete both.',
  );
}

async function createDataDirectory(path: string, user: ServerUser): Promise<void> {
  await mkdir(path);
  await chmod(path, user.isSwitched ? 0o711 : 0o700);
  await writeFile(join(path, ID_FILE), `${randomBytes(16).toString('hex')}\n`, { flush: true });
}

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));
