import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { atEndOfFile } from '../end-of-file.ts';
import { checkOutput } from '../secrets/leaks.ts';
import { PROGRAM } from './instep-process.ts';

/** A text to type as soon as the output after the one before it matches. */
type Typed = readonly [after: RegExp, text: string];

/** Runs the real command in a pseudo-terminal, which the program `script` of every Linux and macOS opens. */
export async function runInTerminal(
  args: readonly string[],
  folder: string,
  typed: readonly Typed[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const command = [process.execPath, PROGRAM, ...args];
  const options =
    process.platform === 'darwin'
      ? ['-q', '/dev/null', ...command]
      : ['--quiet', '--return', '--command', command.join(' '), '/dev/null'];
  const env = { PATH: process.env.PATH, TMPDIR: tmpdir(), TERM: 'dumb' };
  const child = spawn('script', options, { cwd: folder, env });
  atEndOfFile(() => child.kill('SIGKILL'));
  const left = [...typed];
  let output = '';
  let since = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    since += text;
    const [next] = left;
    if (next === undefined || !next[0].test(since)) return;
    since = '';
    left.shift();
    child.stdin.write(next[1]);
  });
  const [code]: (number | null)[] = await once(child, 'close');
  checkOutput(args, output);
  return { code: code ?? null, output };
}
