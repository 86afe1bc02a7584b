import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemErrorCode } from './errors.ts';
import type { ServerUser } from './server-user.ts';

/**
 * Why PostgreSQL's user can't keep its files below `folder`; `undefined` when it can. If `folder` itself is
 * the only obstacle and belongs to this process's user, its mode is changed, because a folder that was
 * mounted there is meant to hold the database.
 */
export async function checkAccess(
  folder: string,
  user: ServerUser,
  onNotice: (message: string) => void,
): Promise<string | undefined> {
  if (!user.isSwitched) return undefined;
  let inaccessible = await findInaccessible(folder, user);
  if (inaccessible === folder && (await openOwnFolder(folder))) {
    inaccessible = await findInaccessible(folder, user);
    onNotice(`PostgreSQL runs as user id ${user.uid}: opened ${folder} for it (chmod o+x)`);
  }
  if (inaccessible !== undefined) return `can't enter ${inaccessible}`;
  return (await canOwnFolderIn(folder, user)) ? undefined : `can't own a folder in ${folder}`;
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

/** Some mounted file systems keep no owners, with or without an error. */
export async function canOwnFolderIn(folder: string, user: ServerUser): Promise<boolean> {
  const probe = await mkdtemp(join(folder, 'owner-check-'));
  try {
    await chown(probe, user.uid, user.gid);
    return (await stat(probe)).uid === user.uid;
  } catch (error) {
    if (!['EPERM', 'EINVAL', 'ENOTSUP'].includes(systemErrorCode(error))) throw error;
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

async function openOwnFolder(folder: string): Promise<boolean> {
  const { uid, mode } = await stat(folder);
  if (uid !== process.getuid?.()) return false;
  // Others can enter it, but not list it.
  await chmod(folder, (mode & 0o7777) | 0o001);
  return true;
}
