import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { ServerUser } from './server-user.ts';

type ProgramEnd = {
  readonly succeeded: boolean;
  /** Standard output and standard error. */
  readonly output: string;
};

/** Options for starting PostgreSQL's programs, without our environment, which holds secrets. */
export function spawnOptions(user: ServerUser) {
  return {
    ...(user.isSwitched ? { uid: user.uid, gid: user.gid } : {}),
    // Every user can enter it.
    cwd: '/',
    env: { LC_ALL: 'C', TZ: 'UTC' },
  };
}

/**
 * Runs a program to its end, without a shell. After `deadlineMs` it is killed, and has not
 * succeeded. It stays in our process group, so that Ctrl-C ends it too.
 * @throws the system's error when it can't be run (`EACCES`, `ENOENT`, …)
 */
export async function runProgram(
  program: string,
  parameters: readonly string[],
  options: { user: ServerUser; deadlineMs: number; input?: string },
): Promise<ProgramEnd> {
  const child = spawn(program, parameters, spawnOptions(options.user));
  // `spawn`'s own timeout would keep this process alive after a program that can't be run.
  const deadline = setTimeout(() => child.kill('SIGKILL'), options.deadlineMs);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // A program that ends without reading its input breaks this pipe. Its exit code is enough.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  try {
    const { stdout, stderr } = child;
    const [exitCode, ...output] = await Promise.all([closed, text(stdout), text(stderr)]);
    return { succeeded: exitCode === 0, output: output.join('').trim() };
  } finally {
    clearTimeout(deadline);
  }
}
