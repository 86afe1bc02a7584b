import { parseDuration } from './duration.ts';

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/**
 * Parses a time such as `2h` (ago), `2026-05-31` or `2026-05-31T10:00Z` into milliseconds since 1970;
 * `null` when the text is not a time.
 */
export function parseTimeSince(text: string, nowMs: number): number | null {
  const agoMs = parseDuration(text);
  if (agoMs !== null) return nowMs - agoMs;
  const atMs = TIME.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}
