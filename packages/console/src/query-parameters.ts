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

/** The values of a form's fields; a missing one is as in `empty`. */
export function readFields<Fields extends Readonly<Record<string, string>>>(
  empty: Fields,
  given: Readonly<Record<string, string>>,
): Fields {
  const read = Object.keys(empty).map((name) => [name, queryText(given[name])] as const);
  return { ...empty, ...Object.fromEntries(read) };
}

/** An address with these parameters; those without a value are left out. */
export function urlWith(
  path: string,
  ...parameters: readonly Readonly<Record<string, string | number | null>>[]
): string {
  const query = new URLSearchParams();
  const all: Record<string, string | number | null> = Object.assign({}, ...parameters);
  for (const [name, value] of Object.entries(all)) {
    if (value !== null && value !== '') query.append(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The path if it is one of ours, otherwise `/`, so that no link or form redirects to another site. */
export function ownPath(wanted: unknown): string {
  const here = 'http://here.invalid';
  if (typeof wanted !== 'string' || !URL.canParse(wanted, here)) return '/';
  const { origin, pathname, search } = new URL(wanted, here);
  // A path that begins with two slashes names a host.
  return origin === here && !pathname.startsWith('//') ? pathname + search : '/';
}
