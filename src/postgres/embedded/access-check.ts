import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findInaccessibleFolder } from './inaccessible-folder.ts';
import type { ServerUser } from './server-user.ts';
import { systemErrorCode } from './system-error-code.ts';

/**
 * Why PostgreSQL's user could not keep its files within `data`; `undefined` when it can.
 *
 * When nothing but `data` itself is closed to it, and belongs to us, it is opened: it is there for
 * this, and whoever mounted it there counts on finding the database in it.
 */
export async function checkAccess(
  data: string,
  user: ServerUser,
  notice: (message: string) => void,
): Promise<string | undefined> {
  if (!user.isSwitched) return undefined;
  let closed = await findInaccessibleFolder(data, user);
  if (closed === data && (await openOwnFolder(data))) {
    closed = await findInaccessibleFolder(data, user);
    notice(`PostgreSQL runs as user id ${user.uid}: ${data} was opened to it (chmod o+x)`);
  }
  if (closed !== undefined) return `cannot enter ${closed}`;
  return (await canOwnFolderIn(data, user)) ? undefined : `cannot own a folder in ${data}`;
}

/** Some mounted folders of other systems keep no owners, with or without an error. */
export async function canOwnFolderIn(folder: string, user: ServerUser): Promise<boolean> {
  const trial = await mkdtemp(join(folder, 'owner-trial-'));
  try {
    await chown(trial, user.uid, user.gid);
    return (await stat(trial)).uid === user.uid;
  } catch (error) {
    if (!['EPERM', 'EINVAL', 'ENOTSUP'].includes(systemErrorCode(error))) throw error;
    return false;
  } finally {
    await rm(trial, { recursive: true, force: true });
  }
}

async function openOwnFolder(folder: string): Promise<boolean> {
  const { uid, mode } = await stat(folder);
  if (uid !== process.getuid?.()) return false;
  // To enter it is not to list it.
  await chmod(folder, (mode & 0o7777) | 0o001);
  return true;
}
