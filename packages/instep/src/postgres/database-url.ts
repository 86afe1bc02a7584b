// What `pg` does not know of a PostgreSQL URL: config/database.ts parses the URL, connect.ts takes out the search path.

/**
 * The values of `sslmode` that `pg` knows. It treats all of `VERIFYING` as `verify-full`, but warns about the
 * first three.
 */
const VERIFYING = ['prefer', 'require', 'verify-ca', 'verify-full'];
const SSL_MODES = ['disable', 'no-verify', ...VERIFYING];

const START = /^postgres(?:ql)?:\/\/(?:[^@/]*@)?([^/?]*)/;

/** Whether a text is libpq's form of a URL with several hosts, of which one is the primary. */
export function hasSeveralHosts(text: string): boolean {
  const [, host = ''] = START.exec(text) ?? [];
  return host.includes(',');
}

/** The URL of a PostgreSQL database; `null` for any other text. */
export function parseDatabaseUrl(text: string): URL | null {
  if (!START.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  const { searchParams, pathname, hash } = url;
  // Of a password with `@` as well as `#` or `/`, the rest would be taken for a host, and be logged.
  if (hash !== '' || pathname.includes('@')) return null;
  const sslMode = searchParams.get('sslmode');
  if (sslMode !== null && !SSL_MODES.includes(sslMode)) return null;
  const isLikeLibpq = searchParams.get('uselibpqcompat') === 'true';
  if (sslMode !== null && VERIFYING.includes(sslMode) && !isLikeLibpq) {
    searchParams.set('sslmode', 'verify-full');
  }
  // `pg` would pass it on to the server, which does not know it. Instep always writes.
  searchParams.delete('target_session_attrs');
  return url;
}

/** The host and port of a URL, for people: without its secret parts. */
export function hostOf(url: URL): string {
  return url.searchParams.get('host') ?? url.host;
}

/** A database's URL without its search path, and the schemas of that path; `null` without one. */
type SearchPath = { url: URL; schemas: readonly string[] | null };

/** In the `options` of libpq: `-c search_path=app,public`, with a backslash before spaces. */
const OPTION = /(?:^|\s)(?:-c\s*|--)search[_-]path=((?:\\.|[^\s\\])*)/;

/**
 * Takes the search path out of a URL, in the form of libpq (`options`), JDBC (`currentSchema`) or Prisma
 * (`schema`), or under its own name. Instep sets it in each session or transaction, because a pooler refuses
 * or drops it when a connection starts, and `pg` knows only libpq's form.
 */
export function takeSearchPath(given: URL): SearchPath {
  const url = new URL(given);
  const { searchParams } = url;
  const options = searchParams.get('options') ?? '';
  const [option, value = ''] = OPTION.exec(options) ?? [];
  if (option !== undefined) {
    const others = options.replace(option, '').trim();
    if (others === '') searchParams.delete('options');
    else searchParams.set('options', others);
  }
  const schema = searchParams.get('schema');
  const path = searchParams.get('search_path') ?? searchParams.get('currentSchema');
  for (const name of ['search_path', 'currentSchema', 'schema']) searchParams.delete(name);
  if (schema) return { url, schemas: [schema] };
  const schemas = namesIn(path || value.replace(/\\(.)/g, '$1'));
  return { url, schemas: schemas.length === 0 ? null : schemas };
}

/** The names in a list as in SQL: lower case, unless they are quoted. */
function namesIn(list: string): string[] {
  return [...list.matchAll(/"((?:[^"]|"")+)"|([^",\s]+)/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.toLowerCase(),
  );
}
