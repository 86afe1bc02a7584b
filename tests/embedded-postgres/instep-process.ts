import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Connection } from 'instep-embedded-postgres/src/presence-lock.ts';

const FIXTURE = fileURLToPath(new URL('instep-process.js', import.meta.url));
const MODULE = fileURLToPath(
  new URL('../../packages/embedded-postgres/dist/index.js', import.meta.url),
);

type Opened = { readonly connection: Connection; readonly notices: readonly string[] };

type InstepProcessOptions = {
  /** The program, and the module with which it opens PostgreSQL; by default, those of this tree. */
  readonly program?: { readonly fixture: string; readonly module: string };
  /** The user to run it as; only for root. */
  readonly uid?: number;
};

/** An error of the embedded PostgreSQL in another process. */
class ErrorOfProcess extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Another process that opens the embedded PostgreSQL in `dataFolder`, and runs commands. */
export class InstepProcess {
  static readonly #all = new Set<InstepProcess>();
  readonly #child: ChildProcess;
  #sent = 0;

  /** It leads a process group of its own, as a command in a terminal does. */
  constructor(dataFolder: string, { program, uid }: InstepProcessOptions = {}) {
    const identity = uid === undefined ? {} : { uid, gid: uid };
    // Drops the test runner's arguments, whose modules an ordinary user can't read.
    const options = { detached: true, cwd: '/', execArgv: [], ...identity };
    this.#child = fork(
      program?.fixture ?? FIXTURE,
      [program?.module ?? MODULE, dataFolder],
      options,
    );
    this.#child.setMaxListeners(0);
    InstepProcess.#all.add(this);
  }

  /** Cleans up after a test. */
  static async killAll(): Promise<void> {
    for (const each of InstepProcess.#all) await each.kill();
    InstepProcess.#all.clear();
  }

  open(): Promise<Opened> {
    return this.#request<Opened>('open');
  }

  ensureRunning(): Promise<void> {
    return this.#request<void>('ensureRunning');
  }

  release(): Promise<void> {
    return this.#request<void>('release');
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

  #request<Result>(command: string): Promise<Result> {
    this.#sent += 1;
    const number = this.#sent;
    const child = this.#child;
    return new Promise((resolve, reject) => {
      type Answer = { number: number; result: Result; error?: { code: string; message: string } };
      const onAnswer = (answer: Answer) => {
        if (answer.number !== number) return;
        child.off('message', onAnswer);
        if (answer.error === undefined) resolve(answer.result);
        else reject(new ErrorOfProcess(answer.error.code, answer.error.message));
      };
      child.on('message', onAnswer);
      child.once('exit', () => reject(new Error(`the process ended before ${command} did`)));
      child.send({ number, command });
    });
  }
}
