import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { copyBinaries } from './copy-binaries.ts';
import { PostgresMissing, PostgresStartFailed } from './embedded-postgres-errors.ts';
import { layLinks } from './library-links.ts';
import type { PostgresPackage } from './postgres-package.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-user.ts';
import { systemErrorCode } from './system-error-code.ts';

/** PostgreSQL's programs, where its user can run them. */
export type Binaries = { readonly initdb: string; readonly postgres: string };

const TRIAL_DEADLINE_MS = 20_000;

/**
 * Finds programs that `user` can run: those of the installed package, or else a copy of them
 * within the home, made when there is none (the package lies below a folder that the user cannot
 * enter, or lacks the links to its libraries and is not ours to write).
 * @throws PostgresMissing when they run nowhere on this machine
 * @throws PostgresStartFailed when they fail
 */
export async function prepareBinaries(
  installed: PostgresPackage,
  home: string,
  user: ServerUser,
): Promise<Binaries> {
  const original = binariesIn(installed.folder);
  if ((await layLinks(installed.folder)) && (await canRun(original, user))) return original;
  const folder = join(home, 'binaries', installed.version);
  const copied = binariesIn(folder);
  if (!(await isThere(copied.postgres))) await copyBinaries(installed.folder, folder);
  if (await canRun(copied, user)) return copied;
  throw new PostgresStartFailed(
    `user id ${user.uid} may not run PostgreSQL's programs, neither in ${installed.folder} nor ` +
      `in ${folder} (are both on a file system mounted with \`noexec\`?): set INSTEP_DATA to a ` +
      'folder elsewhere, or set DATABASE_URL',
  );
}

function binariesIn(folder: string): Binaries {
  const programs = join(folder, 'native', 'bin');
  return { initdb: join(programs, 'initdb'), postgres: join(programs, 'postgres') };
}

/** `false` when the user may not, which a copy elsewhere can repair; other troubles are thrown. */
async function canRun(binaries: Binaries, user: ServerUser): Promise<boolean> {
  try {
    const trial = await runProgram(binaries.postgres, ['--version'], {
      user,
      deadlineMs: TRIAL_DEADLINE_MS,
    });
    if (trial.succeeded) return true;
    throw new PostgresStartFailed(
      `PostgreSQL's programs do not run on this machine: ${trial.output}; install what is ` +
        'missing, or set DATABASE_URL to use a PostgreSQL of your own',
    );
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EACCES') return false;
    if (code === 'ENOENT' && (await isThere(binaries.postgres))) throw noLoader(error);
    if (code === 'EPERM' || code === 'EINVAL') throw cannotSwitch(user, error);
    throw error;
  }
}

function noLoader(cause: unknown): PostgresMissing {
  return new PostgresMissing(
    "PostgreSQL's programs need the GNU C library, which this system (Alpine?) does not have: " +
      'use an image based on Debian or Ubuntu, or set DATABASE_URL',
    { cause },
  );
}

function cannotSwitch(user: ServerUser, cause: unknown): PostgresStartFailed {
  return new PostgresStartFailed(
    `PostgreSQL refuses to run as root, and this root may not become user id ${user.uid}: run ` +
      'Instep as an ordinary user, or set DATABASE_URL',
    { cause },
  );
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
