import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Connection } from 'instep-embedded-postgres/src/presence-lock.ts';

const FIXTURE = fileURLToPath(new URL('instep-process.js', import.meta.url));
const MODULE = fileURLToPath(
  new URL('../../packages/embedded-postgres/dist/index.js', import.meta.url),
);

type Opened = { readonly connection: Connection; readonly notices: readonly string[] };
type Answer = Opened | { readonly error: { readonly code: string; readonly message: string } };

type InstepProcessOptions = {
  /** The program, and the module with which it opens PostgreSQL; by default, those of this tree. */
  readonly program?: { readonly fixture: string; readonly module: string };
  /** The user to run it as; only for root. */
  readonly uid?: number;
};

/** Another process that opens the embedded PostgreSQL in `dataFolder`. */
export class InstepProcess {
  static readonly #all = new Set<InstepProcess>();
  readonly #child: ChildProcess;
  readonly #answer: Promise<Answer>;

  /** It leads a process group of its own, as a command in a terminal does. */
  constructor(dataFolder: string, { program, uid }: InstepProcessOptions = {}) {
    const identity = uid === undefined ? {} : { uid, gid: uid };
    // Drops the test runner's arguments, whose modules an ordinary user can't read.
    const options = { detached: true, cwd: '/', execArgv: [], ...identity };
    const args = [program?.module ?? MODULE, dataFolder];
    const child = fork(program?.fixture ?? FIXTURE, args, options);
    this.#child = child;
    this.#answer = new Promise((resolve, reject) => {
      child.once('message', (answer: Answer) => resolve(answer));
      child.once('exit', () => reject(new Error('the process ended before it opened PostgreSQL')));
    });
    this.#answer.catch(() => undefined);
    InstepProcess.#all.add(this);
  }

  /** Cleans up after a test. */
  static async killAll(): Promise<void> {
    for (const each of InstepProcess.#all) await each.kill();
    InstepProcess.#all.clear();
  }

  /** Waits until it has opened PostgreSQL. @throws what it threw */
  async open(): Promise<Opened> {
    const answer = await this.#answer;
    if ('error' in answer) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer;
  }

  /** Lets it release PostgreSQL, and waits until it has ended. */
  async release(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.send('release');
    await exited;
  }

  /** Simulates Ctrl-C in its terminal. */
  interruptGroup(): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGINT');
  }

  /** kill -9. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
