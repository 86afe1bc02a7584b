import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import {
  PostgresFolderUnfit,
  PostgresStartFailed,
  PostgresVersionDiffers,
} from './embedded-postgres-errors.ts';
import { publishFolder } from './publish-folder.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-user.ts';
import { systemErrorCode } from './system-error-code.ts';

/** The superuser and the database within every cluster. */
export const USER = 'instep';
export const DATABASE = 'instep';

const UNFINISHED = 'cluster.new-';
const UNFINISHED_IS_DEAD_AFTER_MS = 10 * 60_000;

/** Slow disks take their time; nobody waits so long for a start, but nothing would be won. */
const DEADLINE_MS = 120_000;

/**
 * Looks for a cluster of PostgreSQL `major`.
 * @returns whether there is one
 * @throws PostgresVersionDiffers, PostgresFolderUnfit
 */
export async function hasCluster(cluster: string, major: string): Promise<boolean> {
  let version: string;
  try {
    version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  } catch (cause) {
    const code = systemErrorCode(cause);
    if (code === 'ENOENT' && !(await isThere(cluster))) return false;
    throw new PostgresFolderUnfit(
      code === 'ENOENT'
        ? `${cluster} holds no database (PG_VERSION is missing): bring its files back, or move ` +
            'it away to begin with an empty database'
        : `${cluster} cannot be read (${code}): run as the user that made it (or root), or set ` +
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
 * Makes an empty cluster with the database `instep`. It is made beside `cluster` and renamed when
 * it is complete and on the disk: half a cluster never counts, and of two processes that make one
 * at the same moment, one's stays and serves both.
 * @throws PostgresStartFailed with what PostgreSQL's `initdb` said
 */
export async function createCluster(
  cluster: string,
  binaries: Binaries,
  user: ServerUser,
): Promise<void> {
  refuseOddPath(binaries.initdb);
  const unfinished = join(cluster, '..', `${UNFINISHED}${randomBytes(8).toString('hex')}`);
  await mkdir(unfinished, { mode: 0o700 });
  try {
    if (user.isSwitched) await chown(unfinished, user.uid, user.gid);
    await fill(unfinished, binaries, user);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  await publishFolder(unfinished, cluster);
}

/** Deletes what processes left that were killed while they made a cluster. */
export async function deleteUnfinishedClusters(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(home, name);
    const age = await ageOf(path);
    if (age > UNFINISHED_IS_DEAD_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

async function fill(folder: string, { initdb, postgres }: Binaries, user: ServerUser) {
  const run = async (program: string, parameters: string[], input?: string) => {
    const options = { user, deadlineMs: DEADLINE_MS, ...(input === undefined ? {} : { input }) };
    const { succeeded, output } = await runProgram(program, parameters, options);
    // A single-user server goes on after an error.
    if (succeeded && !/^.*ERROR: /m.test(output)) return;
    if (/could not look up effective user ID/.test(output)) throw unknownUser(user);
    throw new PostgresStartFailed(
      `an empty database could not be made (is the disk full?):\n${output || 'no message'}`,
    );
  };
  // Nothing is synced before the end, and then all of it.
  await run(initdb, [
    ...['-D', folder, '-U', USER, '--encoding=UTF8', '--locale=C', '--no-sync'],
    // Only those reach the socket who may enter its private folder; there is no TCP.
    ...['--auth-local=trust', '--auth-host=reject', '--no-instructions'],
  ]);
  // `initdb` has made one database: giving it our name is ten times faster than making another.
  const rename = `alter database postgres rename to ${DATABASE}\n`;
  await run(postgres, ['--single', '-D', folder, '-c', 'fsync=off', 'template1'], rename);
  await run(initdb, ['-D', folder, '--sync-only']);
}

function unknownUser({ uid }: ServerUser): PostgresStartFailed {
  return new PostgresStartFailed(
    `PostgreSQL's initdb refuses to run as user id ${uid}, which this system does not know: add a ` +
      'line for it to /etc/passwd, run as a user that has one, or set DATABASE_URL',
  );
}

/** `initdb` runs `postgres` through a shell, with its path in double quotes. */
function refuseOddPath(path: string): void {
  const odd = /["$`\\\n]/.exec(path)?.[0];
  if (odd === undefined) return;
  throw new PostgresFolderUnfit(
    `PostgreSQL's initdb cannot run in a folder with ${JSON.stringify(odd)} in its path ` +
      `(${path}): move it, or set DATABASE_URL`,
  );
}

async function isThere(path: string): Promise<boolean> {
  return (await ageOf(path)) > Number.NEGATIVE_INFINITY;
}

/** How long ago a folder was last changed, in milliseconds; one that is not there never was. */
async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return Number.NEGATIVE_INFINITY;
    throw error;
  }
}
