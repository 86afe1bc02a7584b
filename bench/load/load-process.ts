import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Job, Load } from './job.ts';

const SENDER = fileURLToPath(new URL('sender.js', import.meta.url));

type Heard = { readonly prepared: true } | { readonly load: Load };

/** The process that sends the load, apart from the one that is measured. */
export class LoadProcess {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(SENDER, { serialization: 'advanced' });
  }

  /** Makes and signs what is to be sent; then calls `onStart`, sends, and tells what came of it. */
  async run(job: Job, onStart: () => void = () => undefined): Promise<Load> {
    this.#child.send({ prepare: job });
    await this.#hear();
    onStart();
    this.#child.send({ go: true });
    const heard = await this.#hear();
    if (!('load' in heard)) throw new TypeError('the sender spoke out of turn');
    return heard.load;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  #hear(): Promise<Heard> {
    return new Promise((resolve, reject) => {
      const early = () => reject(new Error('the sender ended before its time'));
      this.#child.once('exit', early);
      this.#child.once('message', (heard: Heard) => {
        this.#child.off('exit', early);
        resolve(heard);
      });
    });
  }
}
