import { outsideSpans } from './tracing.ts';

const FIRST_LINES = 10;
const INTERVAL_MS = 1_000;

/**
 * Limits log lines that outsiders can cause at any rate: `write` gets the first 10, and then, once a second,
 * the latest one with the number of suppressed lines (`suppressed`). After a second without a suppressed
 * line, it gets 10 lines again.
 */
export function limitLines(write: (members: object) => void): (members: object) => void {
  let written = 0;
  let suppressed = 0;
  let latest = {};
  let isIntervalRunning = false;

  function endInterval(): void {
    isIntervalRunning = false;
    if (suppressed === 0) {
      written = 0;
    } else {
      write({ ...latest, suppressed });
      suppressed = 0;
      startInterval();
    }
  }

  /** A line for several requests belongs to no request's span. */
  function startInterval(): void {
    if (isIntervalRunning) return;
    isIntervalRunning = true;
    void outsideSpans(async () => setTimeout(endInterval, INTERVAL_MS).unref());
  }

  return (members) => {
    startInterval();
    if (written < FIRST_LINES) {
      written += 1;
      write(members);
    } else {
      suppressed += 1;
      latest = members;
    }
  };
}
