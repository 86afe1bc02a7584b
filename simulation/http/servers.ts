import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { SimulationBroken } from '../core/customer-events.ts';
import type { Random } from '../random.ts';

type ServerOptions = {
  /** The compiled command. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
};

type ServerProcess = { readonly url: string; end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> };

/** Enough for a busy machine. */
const START_DEADLINE_MS = 60_000;

/** Several servers on one database. Any of them can be killed, and is started again. */
export class Servers {
  readonly #options: ServerOptions;
  readonly #random: Random;
  readonly #running: ServerProcess[];
  #restart: Promise<void> | null = null;
  kills = 0;

  private constructor(options: ServerOptions, random: Random, running: ServerProcess[]) {
    this.#options = options;
    this.#random = random;
    this.#running = running;
  }

  static async start(count: number, options: ServerOptions, random: Random): Promise<Servers> {
    const starting = Array.from({ length: count }, () => startServer(options));
    return new Servers(options, random, await Promise.all(starting));
  }

  /** The address of a random server, even one that was just killed. */
  anyUrl(): string {
    return this.#random.pick(this.#running).url;
  }

  /** Kills a server with -9, and starts another one in its place. Restarts one server at a time. */
  killOne(): void {
    this.#restart ??= this.#replace().finally(() => {
      this.#restart = null;
    });
  }

  async stop(): Promise<void> {
    await this.#restart;
    await Promise.all(this.#running.map((server) => server.end('SIGTERM')));
  }

  async #replace(): Promise<void> {
    const place = this.#random.below(this.#running.length);
    this.kills += 1;
    await this.#running[place]?.end('SIGKILL');
    this.#running[place] = await startServer(this.#options);
  }
}

/** Starts a real server, and waits until it listens. */
async function startServer({ program, environment }: ServerOptions): Promise<ServerProcess> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const late = setTimeout(() => child.kill('SIGKILL'), START_DEADLINE_MS);
  const url = await Promise.race([listening(child), exited.then(() => null)]);
  clearTimeout(late);
  if (url === null) throw new SimulationBroken('a server ended or timed out before it listened');
  return {
    url,
    async end(signal) {
      child.kill(signal);
      await exited;
    },
  };
}

/** Resolves with the address that the server logs, and drains its other lines. */
function listening({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (stdout === null) return;
    createInterface({ input: stdout }).on('line', (line) => {
      const { msg, url }: { msg?: unknown; url?: unknown } = JSON.parse(line);
      if (msg === 'listening' && typeof url === 'string') resolve(url);
    });
  });
}
