import { outsideSpans } from './tracing.ts';

const FIRST_LINES = 10;
const INTERVAL_MS = 1_000;

/**
 * Limits log lines that anybody can cause as often as they like: `write` gets the first 10, and
 * then, once a second, the latest with the number of lines that it stands for (`suppressed`). After
 * a second without a suppressed line it gets the first 10 again.
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

  /** A line that stands for several requests is part of no request's span. */
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
