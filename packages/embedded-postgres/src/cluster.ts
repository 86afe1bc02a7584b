import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import {
  ifExists,
  PostgresFolderUnfit,
  PostgresStartFailed,
  PostgresVersionDiffers,
  systemErrorCode,
} from './errors.ts';
import { publishDirectory } from './publish-directory.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-user.ts';

/** The superuser and the database of every cluster. A role with our schema's name would have that first in its search path. */
export const USER = 'app';
export const DATABASE = 'instep';

/** Enough for the slowest disk. */
const DEADLINE_MS = 120_000;

/**
 * Whether there is a cluster of PostgreSQL `major`.
 * @throws PostgresVersionDiffers, PostgresFolderUnfit
 */
export async function hasCluster(cluster: string, major: string): Promise<boolean> {
  let version: string;
  try {
    version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  } catch (cause) {
    const code = systemErrorCode(cause);
    if (code === 'ENOENT' && (await ifExists(stat(cluster))) === undefined) return false;
    throw new PostgresFolderUnfit(
      code === 'ENOENT'
        ? `${cluster} holds no database (PG_VERSION is missing): restore its files, or move it ` +
            'away to start with an empty database'
        : `can't read ${cluster} (${code}): run as the user that made it (or root), or set ` +
            'INSTEP_DATA to another folder',
      { cause },
    );
  }
  if (version === major) return true;
  throw new PostgresVersionDiffers(
    `the database in ${cluster} was made by PostgreSQL ${version}, and this is PostgreSQL ` +
      `${major}: move its data with PostgreSQL ${version}'s pg_dump, set INSTEP_DATA to another ` +
      'folder, or set DATABASE_URL',
  );
}

/**
 * Creates an empty cluster with the database `instep`. It is created beside `cluster`, and renamed when it is
 * complete and on disk, so that an unfinished cluster is never used. If two processes create one at the same
 * time, one cluster stays and serves both.
 * @throws PostgresStartFailed with the output of PostgreSQL's `initdb`
 */
export async function createCluster(
  cluster: string,
  binaries: Binaries,
  user: ServerUser,
): Promise<void> {
  const unfinished = join(cluster, '..', `cluster.new-${randomBytes(8).toString('hex')}`);
  await mkdir(unfinished, { mode: 0o700 });
  try {
    if (user.isSwitched) await chown(unfinished, user.uid, user.gid);
    await initialize(unfinished, binaries, user);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  await publishDirectory(unfinished, cluster);
}

async function initialize(folder: string, { initdb, postgres }: Binaries, user: ServerUser) {
  const run = async (program: string, parameters: string[], input = '') => {
    const options = { user, deadlineMs: DEADLINE_MS, input };
    const { succeeded, output } = await runProgram(program, parameters, options);
    // A single-user server continues after an error.
    if (succeeded && !/^.*ERROR: /m.test(output)) return;
    throw new PostgresStartFailed(
      /could not look up effective user ID/.test(output)
        ? `PostgreSQL's initdb refuses to run as user id ${user.uid}, which this system does not ` +
            'know: add a line for it to /etc/passwd, run as a user that has one, or set DATABASE_URL'
        : `can't create an empty database (is the disk full?):\n${output || 'no message'}`,
    );
  };
  // Everything is synced once, at the end.
  await run(initdb, [
    ...['-D', folder, '-U', USER, '--encoding=UTF8', '--locale=C', '--no-sync'],
    // The socket's private directory decides who can connect; there is no TCP.
    ...['--auth-local=trust', '--auth-host=reject', '--no-instructions'],
  ]);
  // Renaming the database that `initdb` made is ten times faster than creating another one.
  const rename = `alter database postgres rename to ${DATABASE}\n`;
  await run(postgres, ['--single', '-D', folder, '-c', 'fsync=off', 'template1'], rename);
  await run(initdb, ['-D', folder, '--sync-only']);
}
