import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { PostgresFolderUnfit } from './embedded-postgres-errors.ts';
import { systemErrorCode } from './system-error-code.ts';

/** Whom PostgreSQL runs as. */
export type ServerUser = {
  readonly uid: number;
  readonly gid: number;
  /** We are root and become this user for PostgreSQL's programs; otherwise it is ourselves. */
  readonly isSwitched: boolean;
};

/** `nobody` on most systems. */
const UNPRIVILEGED_ID = 65_534;

/** The user that a new cluster belongs to: ourselves, or an unprivileged one when we are root. */
export async function userOfNewCluster(): Promise<ServerUser> {
  const uid = process.getuid?.() ?? -1;
  if (uid === 0) return { ...(await findUnprivilegedUser()), isSwitched: true };
  return { uid, gid: process.getgid?.() ?? -1, isSwitched: false };
}

/**
 * `initdb` runs as no user that the system does not know. Where 65534 is unknown (macOS, old Red
 * Hats), `nobody` goes by another number.
 */
async function findUnprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const users = (await readListOfUsers()).split('\n').map((line) => {
    const [name, , uid, gid] = line.split(':');
    // macOS writes -2 for the highest but one.
    return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  });
  const isKnown = users.some(({ uid }) => uid === UNPRIVILEGED_ID);
  const nobody = isKnown ? undefined : users.find(({ name, uid }) => name === 'nobody' && uid > 0);
  return {
    uid: nobody?.uid ?? UNPRIVILEGED_ID,
    gid: nobody?.gid ?? UNPRIVILEGED_ID,
  };
}

async function readListOfUsers(): Promise<string> {
  try {
    return await readFile('/etc/passwd', 'utf8');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return '';
    throw error;
  }
}

/**
 * The user that the cluster belongs to, since PostgreSQL runs as no other; for one that is not
 * there yet, the user of a new one.
 * @throws PostgresFolderUnfit when we cannot run programs as that user
 */
export async function userOfCluster(cluster: string): Promise<ServerUser> {
  const ours = await userOfNewCluster();
  const owner = await statIfThere(cluster);
  if (owner === undefined || owner.uid === ours.uid) return ours;
  if (!ours.isSwitched) {
    throw new PostgresFolderUnfit(
      `the database in ${cluster} belongs to user id ${owner.uid}, and we are ${ours.uid}: run ` +
        'as the user (or root) that made it, or set INSTEP_DATA to another folder',
    );
  }
  if (owner.uid === 0) {
    throw new PostgresFolderUnfit(
      `the database in ${cluster} belongs to root, whom PostgreSQL refuses: give it back with ` +
        `\`chown -R ${ours.uid}:${ours.gid}\` of that folder`,
    );
  }
  return { uid: owner.uid, gid: owner.gid, isSwitched: true };
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    if (systemErrorCode(error) !== 'EACCES') throw error;
    throw new PostgresFolderUnfit(
      `${path} cannot be entered: it belongs to another user; run as that user (or root), or ` +
        'set INSTEP_DATA to another folder',
      { cause: error },
    );
  }
}
