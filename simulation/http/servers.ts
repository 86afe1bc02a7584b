import type { Random } from '../../src/testing/random.ts';
import { type ServerOptions, type ServerProcess, startServer } from './server-process.ts';

/** Several servers on one database, any of which may be killed and started again at any time. */
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

  /** The address of any of them, one that was just killed included. */
  anyUrl(): string {
    return this.#random.pick(this.#running).url;
  }

  /** Kills one of them with -9 and starts another in its place; one at a time. */
  killOne(): void {
    this.#restart ??= this.#replace().finally(() => {
      this.#restart = null;
    });
  }

  async stop(): Promise<void> {
    await this.#restart;
    await Promise.all(this.#running.map((server) => server.stop()));
  }

  async #replace(): Promise<void> {
    const place = this.#random.below(this.#running.length);
    this.kills += 1;
    await this.#running[place]?.kill();
    this.#running[place] = await startServer(this.#options);
  }
}
