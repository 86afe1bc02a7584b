import { outsideSpans } from '../runtime/tracing.ts';

/** So many lines are written as ever before a flood is taken for one. */
const FIRST_LINES = 10;
const INTERVAL_MS = 1_000;

export type LineLimiterOptions = {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Writes a line with these members; `leftOut` among them is the number of lines it stands for. */
  readonly write: (members: object) => void;
};

/**
 * For lines that anybody can cause as often as they like: the first ones are written, and of a
 * flood of them the last one of each second, which says for how many it stands. So each is counted.
 */
export function limitLines({ now, write }: LineLimiterOptions): (members: object) => void {
  let allowed = FIRST_LINES;
  let allowedAtMs = now();
  let leftOut = 0;
  let last = {};

  /** One more each second, until there are as many as at first. */
  function allowMore(): void {
    const seconds = Math.floor((now() - allowedAtMs) / INTERVAL_MS);
    allowedAtMs += seconds * INTERVAL_MS;
    // A clock may be set back.
    allowed = Math.min(FIRST_LINES, allowed + Math.max(0, seconds));
  }

  function writeCount(): void {
    allowMore();
    allowed -= 1;
    write({ ...last, leftOut });
    leftOut = 0;
  }

  return (members) => {
    allowMore();
    if (leftOut === 0 && allowed > 0) {
      allowed -= 1;
      write(members);
    } else {
      // What stands for many requests is part of none.
      if (leftOut === 0) outsideSpans(() => setTimeout(writeCount, INTERVAL_MS));
      leftOut += 1;
      last = members;
    }
  };
}
