import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { SimulationBroken } from '../core/customer-events.ts';

export type ServerProcess = {
  readonly url: string;
  /** SIGKILL: nothing of it is told, finished or cleaned up. */
  kill(): Promise<void>;
  /** SIGTERM. */
  stop(): Promise<void>;
};

export type ServerOptions = {
  /** The compiled command. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** A busy machine takes its time. */
const START_DEADLINE_MS = 60_000;

/** Starts a real server, and waits until it listens. */
export async function startServer({ program, environment }: ServerOptions): Promise<ServerProcess> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const late = setTimeout(() => child.kill('SIGKILL'), START_DEADLINE_MS);
  const url = await Promise.race([listening(child), exited.then(() => null)]);
  clearTimeout(late);
  if (url === null) throw new SimulationBroken('a server ended, or was late, before it listened');
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal);
    await exited;
  };
  return { url, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}

/** The address that the server logs when it listens. Its other lines are let go. */
function listening({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (stdout === null) return;
    createInterface({ input: stdout }).on('line', (line) => {
      const { msg, url }: { msg?: unknown; url?: unknown } = JSON.parse(line);
      if (msg === 'listening' && typeof url === 'string') resolve(url);
    });
  });
}
