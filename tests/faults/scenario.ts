/** One way of treating the service badly, and what it promises nevertheless. */
export type Scenario = {
  /** What is done. */
  readonly fault: string;
  /** What must hold. */
  readonly promise: string;
  /** How often it is done: in `npm test`, and in `npm run torture`. */
  readonly times: { readonly short: number; readonly long: number };
  /** Whether this machine lets us do it; any does when it is left out. */
  readonly isPossible?: () => boolean;
  /** Does it; throws when the promise is broken. */
  readonly run: (options: RunOptions) => Promise<Readonly<Record<string, number>>>;
};

export type RunOptions = {
  readonly times: number;
  readonly onProgress?: (done: number) => void;
};
