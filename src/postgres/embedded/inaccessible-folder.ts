import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ServerUser } from './server-user.ts';

/**
 * The outermost folder on the way to `path` (itself included) that `user` cannot enter, judged by
 * owner and mode; `undefined` when the way is open. `path` is absolute and without symbolic links.
 */
export async function findInaccessibleFolder(
  path: string,
  user: ServerUser,
): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent !== path) {
    const closed = await findInaccessibleFolder(parent, user);
    if (closed !== undefined) return closed;
  }
  const { uid, gid, mode } = await stat(path);
  const enter = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return (mode & enter) === 0 ? path : undefined;
}
