import { Worker } from 'node:worker_threads';

const MAX_INPUT_LENGTH = 1_048_576;
/** The number of inputs, and the length of the current one. */
const HEAD_LENGTH = 8;

/** Ends this process if an input never finishes: see `watchdog.js`. */
export class Watchdog {
  readonly #memory = new SharedArrayBuffer(HEAD_LENGTH + MAX_INPUT_LENGTH);
  readonly #state = new Int32Array(this.#memory, 0, 2);
  readonly #bytes = Buffer.from(this.#memory, HEAD_LENGTH);
  readonly #worker = new Worker(new URL('watchdog.js', import.meta.url), {
    workerData: this.#memory,
  });

  /** Starts an input, which ends the last one. */
  begins(input: string): void {
    Atomics.store(this.#state, 1, this.#bytes.write(input, 'latin1'));
    Atomics.add(this.#state, 0, 1);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
