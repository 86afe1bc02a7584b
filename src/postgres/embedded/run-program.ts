import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { ServerUser } from './server-user.ts';

/** The whole environment of PostgreSQL's programs: nothing of ours, which holds secrets. */
export const PROGRAM_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };

/** Where PostgreSQL's programs start: a folder that every user can enter. */
export const PROGRAM_FOLDER = '/';

export type ProgramEnd = {
  readonly succeeded: boolean;
  /** What it printed, both streams. */
  readonly output: string;
};

/** The part of `spawn`'s options that says whom a program runs as. */
export function spawnAs(user: ServerUser): { uid?: number; gid?: number } {
  return user.isSwitched ? { uid: user.uid, gid: user.gid } : {};
}

/**
 * Runs a program to its end, without a shell. After `deadlineMs` it is killed, and has not
 * succeeded. It stays in our process group, so that Ctrl-C ends it too.
 * @throws the system's error when it cannot be run (`EACCES`, `ENOENT`, …)
 */
export async function runProgram(
  program: string,
  parameters: readonly string[],
  options: { user: ServerUser; deadlineMs: number; input?: string },
): Promise<ProgramEnd> {
  const child = spawn(program, parameters, {
    ...spawnAs(options.user),
    cwd: PROGRAM_FOLDER,
    env: PROGRAM_ENVIRONMENT,
  });
  // The option `timeout` of `spawn` keeps us alive that long after a program that cannot be run.
  const deadline = setTimeout(() => child.kill('SIGKILL'), options.deadlineMs);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // A program that ends without reading its input breaks this pipe; its exit code says enough.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  try {
    const [exitCode, stdout, stderr] = await Promise.all([
      exited,
      text(child.stdout),
      text(child.stderr),
    ]);
    return { succeeded: exitCode === 0, output: `${stdout}${stderr}`.trim() };
  } finally {
    clearTimeout(deadline);
  }
}
