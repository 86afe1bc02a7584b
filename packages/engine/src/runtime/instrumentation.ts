/** Reports of Instep's parts about their work. Durations are in milliseconds. */
export type Instrumentation = {
  /** A request was answered. `route` is a served path, or `other`. */
  requestAnswered(route: string, status: number, durationMs: number): void;
  /** The signature is of another secret (`wrong`), missing, or old, or the body is not text. */
  signatureRejected(problem: string): void;
  eventProcessed(event: ProcessedEvent): void;
  /** An event was refused, or could not be stored. Stripe sends it again. */
  eventFailed(error: unknown): void;
  /** A batch of this many events has ended, whether it was stored or not. */
  batchEnded(queue: string, size: number, durationMs: number): void;
  /** A call to Stripe's API has ended; `result` is `done`, a status, `timeout`, `no answer` or `other`. */
  apiCallEnded(path: string, result: string, durationMs: number): void;
  jobEnded(job: string, result: 'done' | 'failed', durationMs: number): void;
};

type ProcessedEvent = {
  /** A type that we handle, or `other`. */
  readonly type: string;
  readonly outcome: string;
  readonly source: string;
  /** The time from the event's creation to its first arrival; `null`: not measured. */
  readonly delayMs: number | null;
};

export const NO_INSTRUMENTATION: Instrumentation = {
  requestAnswered: () => undefined,
  signatureRejected: () => undefined,
  eventProcessed: () => undefined,
  eventFailed: () => undefined,
  batchEnded: () => undefined,
  apiCallEnded: () => undefined,
  jobEnded: () => undefined,
};
