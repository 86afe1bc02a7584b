/** So many lines are written as ever before a flood is taken for one. */
const FIRST_LINES = 10;
const INTERVAL_MS = 1_000;

export type LineLimiterOptions = {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Writes a line: one with these members, or one that says how many were left out. */
  readonly write: (members: object | { readonly leftOut: number }) => void;
};

/**
 * For lines that anybody can cause as often as they like: the first ones are written, and of a
 * flood of them one a second, which says how many were left out. None is lost without being counted.
 */
export function limitLines({ now, write }: LineLimiterOptions): (members: object) => void {
  let allowed = FIRST_LINES;
  let allowedAtMs = now();
  let leftOut = 0;

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
    write({ leftOut });
    leftOut = 0;
  }

  return (members) => {
    allowMore();
    if (leftOut === 0 && allowed > 0) {
      allowed -= 1;
      write(members);
    } else {
      if (leftOut === 0) setTimeout(writeCount, INTERVAL_MS);
      leftOut += 1;
    }
  };
}
