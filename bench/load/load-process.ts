import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Job, Load } from './job.ts';

const SENDER = fileURLToPath(new URL('sender.js', import.meta.url));

type Received = { readonly prepared: true } | { readonly load: Load };

/** The process that sends the load, separate from the measured one. */
export class LoadProcess {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(SENDER, { serialization: 'advanced' });
  }

  /** Prepares and signs the requests, calls `onStart`, sends them, and returns the result. */
  async run(job: Job, onStart: () => void): Promise<Load> {
    this.#child.send({ prepare: job });
    await this.#receive();
    onStart();
    this.#child.send({ go: true });
    const received = await this.#receive();
    if (!('load' in received)) throw new TypeError('an unexpected message from the sender');
    return received.load;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  #receive(): Promise<Received> {
    return new Promise((resolve, reject) => {
      const early = () => reject(new Error('the sender ended early'));
      this.#child.once('exit', early);
      this.#child.once('message', (received: Received) => {
        this.#child.off('exit', early);
        resolve(received);
      });
    });
  }
}
