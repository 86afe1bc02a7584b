/** Longer than any stored id or name. */
const MAX_LENGTH = 1_000;

/** A parameter as a search text: trimmed, and without characters that PostgreSQL rejects. */
export function queryText(given: unknown): string {
  if (typeof given !== 'string') return '';
  return given.replaceAll('\0', '').slice(0, MAX_LENGTH).toWellFormed().trim();
}

/** A parameter that is a whole number, such as a position or an id; otherwise `null`. */
export function queryNumber(given: unknown): number | null {
  const text = queryText(given);
  return /^\d{1,16}$/.test(text) ? Number(text) : null;
}
