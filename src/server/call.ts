import type { Answer } from './answer.ts';

/** What the handlers need of a request, however it came. */
export type Call = {
  header(name: string): string | null;
  /**
   * The body's exact bytes.
   *
   * @throws Problem 413 for a larger body, 408 for one that did not arrive whole
   */
  body(limitBytes: number): Promise<Uint8Array>;
};

export type Handler = (call: Call) => Promise<Answer>;

export type Route = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Never throws: an error is an answer as well. */
  readonly handle: Handler;
};
