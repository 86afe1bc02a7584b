import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { atEndOfFile } from '../end-of-file.ts';
import { checkOutput } from '../secrets/leaks.ts';
import { freePort } from './free-port.ts';
import { createFolder, SETTINGS } from './instep-process.ts';

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, '../../..');
const GENERATED = ['node_modules', '.next'];

type Environment = Readonly<Record<string, string>>;

/** The variables that npm and Next.js need, and nothing else of the tests' environment. */
const environmentOf = (settings: Environment) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TMPDIR: process.env.TMPDIR,
  NEXT_TELEMETRY_DISABLED: '1',
  ...SETTINGS,
  ...settings,
});

/** Copies `examples` beside the built package, and returns the folder of one example. */
export function copyExamples(name: string): string {
  const clone = createFolder();
  cpSync(join(ROOT, 'packages'), join(clone, 'packages'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  cpSync(join(ROOT, 'examples'), join(clone, 'examples'), {
    recursive: true,
    filter: (path) => !GENERATED.includes(basename(path)),
  });
  return join(clone, 'examples', name);
}

/** Runs npm in the folder until it exits. */
export async function runNpm(folder: string, args: readonly string[], settings: Environment = {}) {
  const environment = { cwd: folder, env: environmentOf(settings) };
  const { stdout, stderr } = await run('npm', args, environment);
  checkOutput(args, stdout + stderr);
  return stdout;
}

/** Starts a server with npm, and waits until it answers. */
export async function startWithNpm(
  folder: string,
  script: string,
  settings: Environment,
): Promise<{ readonly url: string; output(): string; stop(): Promise<void> }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = environmentOf({ ...settings, PORT: `${port}`, BASE_URL: url });
  // In its own process group, because npm starts a shell that starts the server.
  const child = spawn('npm', ['run', script], { cwd: folder, env, detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  async function stop() {
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (isRunning && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await closed;
    checkOutput([script], output);
  }
  atEndOfFile(stop);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`npm run ${script} exited:\n${output}`);
    const response = await fetch(url).catch(() => null);
    if (response?.ok) return { url, output: () => output, stop };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
