import { readFile, stat } from 'node:fs/promises';
import { ifExists, PostgresFolderUnfit, systemErrorCode } from './errors.ts';

/** The user that PostgreSQL runs as. */
export type ServerUser = {
  readonly uid: number;
  readonly gid: number;
  /** This process is root, and starts PostgreSQL's programs as another user. */
  readonly isSwitched: boolean;
};

/** `nobody` on most systems. */
const UNPRIVILEGED_ID = 65_534;

/** The owner of a new cluster: this process's user, or an unprivileged one instead of root. */
export async function userOfNewCluster(): Promise<ServerUser> {
  const uid = process.getuid?.() ?? -1;
  if (uid === 0) return { ...(await findUnprivilegedUser()), isSwitched: true };
  return { uid, gid: process.getgid?.() ?? -1, isSwitched: false };
}

/**
 * `initdb` refuses to run as a user that the system does not know. Where 65534 is unknown (macOS,
 * old versions of Red Hat), `nobody` has another number.
 */
async function findUnprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const entries = ((await ifExists(readFile('/etc/passwd', 'utf8'))) ?? '').split('\n');
  const users = entries.map((line) => {
    const [name, , uid, gid] = line.split(':');
    // macOS writes the highest number but one as -2.
    return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  });
  const isKnown = users.some(({ uid }) => uid === UNPRIVILEGED_ID);
  const nobody = isKnown ? undefined : users.find(({ name, uid }) => name === 'nobody' && uid > 0);
  return nobody ?? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID };
}

/**
 * The owner of the cluster, since PostgreSQL runs as no other user; that of a new one when it does
 * not exist yet.
 * @throws PostgresFolderUnfit when this process can't run programs as that user
 */
export async function userOfCluster(cluster: string): Promise<ServerUser> {
  const current = await userOfNewCluster();
  const owner = await ifExists(stat(cluster)).catch((cause: unknown) => {
    if (systemErrorCode(cause) !== 'EACCES') throw cause;
    throw new PostgresFolderUnfit(
      `can't enter ${cluster}: it belongs to another user. Run as that user (or root), or set ` +
        'INSTEP_DATA to another folder',
      { cause },
    );
  });
  if (owner === undefined || owner.uid === current.uid) return current;
  if (!current.isSwitched) {
    throw new PostgresFolderUnfit(
      `the database in ${cluster} belongs to user id ${owner.uid}, and this process runs as ` +
        `${current.uid}: run as the user (or root) that made it, or set INSTEP_DATA to another ` +
        'folder',
    );
  }
  if (owner.uid === 0) {
    throw new PostgresFolderUnfit(
      `the database in ${cluster} belongs to root, and PostgreSQL refuses to run as root: give it ` +
        `to PostgreSQL's user with \`chown -R ${current.uid}:${current.gid}\` of that folder`,
    );
  }
  return { uid: owner.uid, gid: owner.gid, isSwitched: true };
}
