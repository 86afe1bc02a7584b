import { stat } from 'node:fs/promises';
import { ifExists, PostgresFolderUnfit } from './errors.ts';

/** The user that PostgreSQL runs as. */
export type ServerUser = {
  readonly uid: number;
  readonly gid: number;
  /** This process is root, and starts PostgreSQL's programs as another user. */
  readonly isSwitched: boolean;
};

/** `nobody` on most systems. `initdb` refuses to run as a user that the system does not know. */
const UNPRIVILEGED_ID = 65_534;

/** The owner of a new cluster: this process's user, or an unprivileged one instead of root. */
export function userOfNewCluster(): ServerUser {
  const uid = process.getuid?.() ?? -1;
  if (uid === 0) return { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID, isSwitched: true };
  return { uid, gid: process.getgid?.() ?? -1, isSwitched: false };
}

/**
 * The owner of the cluster, since PostgreSQL runs as no other user; that of a new one when it does
 * not exist yet. Only root can read a cluster that belongs to another user.
 * @throws PostgresFolderUnfit when it belongs to root
 */
export async function userOfCluster(cluster: string): Promise<ServerUser> {
  const current = userOfNewCluster();
  const owner = current.isSwitched ? await ifExists(stat(cluster)) : undefined;
  if (owner === undefined) return current;
  if (owner.uid === 0) {
    throw new PostgresFolderUnfit(
      `the database in ${cluster} belongs to root, and PostgreSQL refuses to run as root: give it ` +
        `to PostgreSQL's user with \`chown -R ${current.uid}:${current.gid}\` of that folder`,
    );
  }
  return { uid: owner.uid, gid: owner.gid, isSwitched: true };
}
