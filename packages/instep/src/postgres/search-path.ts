/** A database's URL without its search path, and the schemas of that path; `null` without one. */
type SearchPath = { readonly url: URL; readonly schemas: readonly string[] | null };

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
