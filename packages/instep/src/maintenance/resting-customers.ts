const REST_MS = 10_000;

/** Customers for whom a job failed. It leaves them alone for a while, so that they delay no others. */
export class RestingCustomers {
  readonly #restMs: number;
  readonly #untilMs = new Map<string, number>();

  constructor(restMs = REST_MS) {
    this.#restMs = restMs;
  }

  add(customerId: string): void {
    this.#untilMs.set(customerId, performance.now() + this.#restMs);
  }

  /** Those who are resting now. */
  ids(): string[] {
    for (const [customerId, untilMs] of this.#untilMs) {
      if (performance.now() >= untilMs) this.#untilMs.delete(customerId);
    }
    return [...this.#untilMs.keys()];
  }
}
