/** One way of treating the service badly, and what it promises nevertheless. */
export type Scenario = {
  /** What is done. */
  readonly fault: string;
  /** What must hold. */
  readonly promise: string;
  /** How often it is done: its short form in tests, and in `npm run torture`. */
  readonly times: { readonly short: number; readonly long: number };
  /** Whether `npm test` runs its short form, too, and not `npm run test:all` alone. */
  readonly isQuick?: true;
  /** Whether this machine lets us do it; any does when it is left out. */
  readonly isPossible?: () => boolean;
  /** Does it; throws when the promise is broken. */
  readonly run: (options: RunOptions) => Promise<Readonly<Record<string, number>>>;
};

export type RunOptions = {
  readonly times: number;
  readonly onProgress?: (done: number) => void;
};
