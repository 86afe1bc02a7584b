/** Longer than any id or name that is stored. */
const MAX_LENGTH = 1_000;

/**
 * What stands in a field, as it may be searched for: without space around it, and without what no
 * text of PostgreSQL's holds.
 */
export function queryText(given: unknown): string {
  if (typeof given !== 'string') return '';
  return given.replaceAll('\0', '').slice(0, MAX_LENGTH).toWellFormed().trim();
}

/** A whole number such as a position or an id; `null` when the text is none. */
export function queryNumber(given: unknown): number | null {
  const text = queryText(given);
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
