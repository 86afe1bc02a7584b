/** A fault, and the promise that the service keeps despite it. */
export type Scenario = {
  /** The fault. */
  readonly fault: string;
  /** The promise that must hold. */
  readonly promise: string;
  /**
   * The number of repetitions: in `npm test`, which leaves the scenario out if there is none, in
   * `npm run test:all`, and in `npm run torture`.
   */
  readonly times: { readonly quick?: number; readonly short: number; readonly long: number };
  /** Whether this machine can run it. Default: any machine can. */
  readonly isPossible?: () => boolean;
  /** Runs the scenario. Throws if the promise is broken. */
  readonly run: (options: RunOptions) => Promise<Readonly<Record<string, number>>>;
};

export type RunOptions = {
  readonly times: number;
  readonly onProgress?: (done: number) => void;
};

/** Counts the repetitions from 1, and reports those that are done. */
export function* turnsOf({ times, onProgress }: RunOptions): Generator<number> {
  for (let turn = 1; turn <= times; turn += 1) {
    yield turn;
    onProgress?.(turn);
  }
}
