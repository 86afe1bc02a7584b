/** Work that goes on while no request waits for it, until it is done or the process ends. */
export class Background {
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  /** Begins it. It must not throw, and end soon when the signal says so. */
  start(work: (signal: AbortSignal) => Promise<void>): void {
    const done = work(this.#stopping.signal).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Asks all of it to end, and waits until it has. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay);
  }
}
