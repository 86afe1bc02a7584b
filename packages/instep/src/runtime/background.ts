/** Work that no request waits for. It continues until it is done or the process ends. */
export class Background {
  #stopping = new AbortController();
  #inFlight = new Set<Promise<void>>();

  /** Starts work, which must not throw and must end soon after the signal is aborted. */
  start(work: (signal: AbortSignal) => Promise<void>): void {
    const done = work(this.#stopping.signal).finally(() => this.#inFlight.delete(done));
    this.#inFlight.add(done);
  }

  /** Aborts all work, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#inFlight);
  }
}
