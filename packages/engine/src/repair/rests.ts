// What this process tried lately without success, and leaves alone for a while, so that it delays nothing else.

type RestsOptions = {
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  readonly clockMs?: (() => number) | undefined;
};

/** Each rest of an id is twice as long as the one before, up to the longest. */
export class Rests {
  #options: RestsOptions;
  #clockMs: () => number;
  #rests = new Map<string, { readonly untilMs: number; readonly pauseMs: number }>();

  constructor(options: RestsOptions) {
    this.#options = options;
    this.#clockMs = options.clockMs ?? (() => performance.now());
  }

  begin(id: string): void {
    const { firstPauseMs, longestPauseMs } = this.#options;
    const lastMs = this.#rests.get(id)?.pauseMs;
    const pauseMs = lastMs === undefined ? firstPauseMs : Math.min(lastMs * 2, longestPauseMs);
    this.#rests.set(id, { untilMs: this.#clockMs() + pauseMs, pauseMs });
  }

  end(id: string): void {
    this.#rests.delete(id);
  }

  /** The ids of what is left alone now. */
  current(): string[] {
    const nowMs = this.#clockMs();
    for (const [id, { untilMs }] of this.#rests) {
      // One that fails again until then gets a longer rest.
      if (nowMs >= untilMs + this.#options.longestPauseMs) this.#rests.delete(id);
    }
    return [...this.#rests].flatMap(([id, { untilMs }]) => (nowMs < untilMs ? id : []));
  }
}
