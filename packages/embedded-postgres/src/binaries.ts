import { join } from 'node:path';
import { copyBinaries } from './copy-binaries.ts';
import { PostgresMissing, PostgresStartFailed, systemErrorCode } from './errors.ts';
import { canAccess, createLinks, type PostgresPackage } from './postgres-package.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-user.ts';

/** PostgreSQL's programs, where its user can run them. */
export type Binaries = { readonly initdb: string; readonly postgres: string };

const CHECK_DEADLINE_MS = 20_000;

/**
 * Finds programs that `user` can run: those of the installed package, or a copy in the data
 * directory. A copy is made when the package is in a folder that the user can't enter, or lacks
 * links that this process can't create.
 * @throws PostgresMissing when this machine can't run them at all
 * @throws PostgresStartFailed when they fail
 */
export async function prepareBinaries(
  installed: PostgresPackage,
  dataDirectory: string,
  user: ServerUser,
): Promise<Binaries> {
  const original = binariesIn(installed.folder);
  if ((await createLinks(installed.folder)) && (await canRun(original, user))) return original;
  const folder = join(dataDirectory, 'binaries', installed.version);
  const copied = binariesIn(folder);
  if (!(await canAccess(copied.postgres))) await copyBinaries(installed.folder, folder);
  if (await canRun(copied, user)) return copied;
  throw new PostgresStartFailed(
    `user id ${user.uid} lacks permission to run PostgreSQL's programs, in ${installed.folder} ` +
      `and in ${folder} (are both on a file system mounted with \`noexec\`?): set INSTEP_DATA to ` +
      'a folder elsewhere, or set DATABASE_URL',
  );
}

function binariesIn(folder: string): Binaries {
  const programs = join(folder, 'native', 'bin');
  return { initdb: join(programs, 'initdb'), postgres: join(programs, 'postgres') };
}

/** `false` when the user lacks permission, which a copy elsewhere can solve; else it throws. */
async function canRun(binaries: Binaries, user: ServerUser): Promise<boolean> {
  try {
    const options = { user, deadlineMs: CHECK_DEADLINE_MS };
    const { succeeded, output } = await runProgram(binaries.postgres, ['--version'], options);
    if (succeeded) return true;
    throw new PostgresStartFailed(
      `PostgreSQL's programs do not run on this machine: ${output}; install what is missing, or ` +
        'set DATABASE_URL to use a PostgreSQL of your own',
    );
  } catch (cause) {
    const code = systemErrorCode(cause);
    if (code === 'EACCES') return false;
    if (code === 'ENOENT' && (await canAccess(binaries.postgres))) {
      throw new PostgresMissing(
        "PostgreSQL's programs need the GNU C library, which this system (Alpine?) does not have: " +
          'use an image based on Debian or Ubuntu, or set DATABASE_URL',
        { cause },
      );
    }
    if (code === 'EPERM' || code === 'EINVAL') {
      throw new PostgresStartFailed(
        `PostgreSQL refuses to run as root, and this root can't become user id ${user.uid}: run ` +
          'Instep as an ordinary user, or set DATABASE_URL',
        { cause },
      );
    }
    throw cause;
  }
}
