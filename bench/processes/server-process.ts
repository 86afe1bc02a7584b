import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../tests/support/process/free-port.ts';

export type ServerCommand = {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Answers without a server error when the server is ready. */
  readonly readyPath: string;
};

/** The program that runs servers, and its options. */
export type Runtime = { readonly command: string; readonly options: readonly string[] };

export type ServerProcess = {
  readonly url: string;
  readonly pid: number;
  /** From the start of the process until it is ready. */
  readonly startMs: number;
  stop(): Promise<void>;
};

const START_DEADLINE_MS = 60_000;
const LOOK_AGAIN_MS = 2;
const LOG_LENGTH = 2_000;

/**
 * Starts a server in an empty folder with only the given environment and `PORT`. Its output goes to a
 * file, as with a service manager.
 */
export async function startServer(
  command: ServerCommand,
  runtime: Runtime = { command: process.execPath, options: [] },
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'instep-bench-'));
  const output = join(folder, 'output');
  const port = await freePort();
  const file = openSync(output, 'w');
  const startedAtMs = performance.now();
  const child = spawn(runtime.command, [...runtime.options, ...command.arguments], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: String(port), ...command.environment },
    stdio: ['ignore', file, file],
  });
  // Clean up if the process ends early.
  const endWithUs = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', endWithUs);
  const exited = once(child, 'exit');
  const stop = async () => {
    if (isRunning(child)) {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), START_DEADLINE_MS);
      await exited;
      clearTimeout(late);
    }
    process.off('exit', endWithUs);
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  while (!(await isReady(url + command.readyPath))) {
    if (isRunning(child) && performance.now() - startedAtMs < START_DEADLINE_MS) {
      await sleep(LOOK_AGAIN_MS);
      continue;
    }
    const log = readFileSync(output, 'utf8').slice(-LOG_LENGTH);
    await stop();
    throw new Error(`a server did not start:\n${log}`);
  }
  const startMs = performance.now() - startedAtMs;
  return { url, pid: child.pid ?? 0, startMs, stop };
}

const isRunning = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode === null && signalCode === null;

async function isReady(url: string): Promise<boolean> {
  try {
    const { status } = await fetch(url, { headers: { connection: 'close' } });
    return status < 500;
  } catch {
    return false;
  }
}
