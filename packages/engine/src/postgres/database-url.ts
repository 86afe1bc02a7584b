// The one reader of PostgreSQL URLs. `pg` gets what is read here, and no parameter by itself: it would take `ssl=false`
// for a wish for TLS, and fail outside of any promise.

import { readFileSync } from 'node:fs';
import type { ServerConnection } from './database-pool.ts';

/** Where a database is, and the schemas of its search path; `null` without one. */
export type DatabaseAddress = {
  readonly connection: ServerConnection;
  readonly searchPath: readonly string[] | null;
};

/** Why a text is not the URL of a database. Quotes nothing that can be secret. */
export class UnfitUrl extends Error {
  readonly problem: string;
  readonly remedy: string;

  constructor(problem: string, remedy: string) {
    super(problem);
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** libpq's form of a cluster. */
const SEVERAL_HOSTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?[^/?#@,]*,/i;

/** The host can be a parameter instead, such as the directory of a socket, but a URL with a user must have one. */
const NO_HOST = /^postgres(?:ql)?:\/\/[^/?#]*@(?=[/?]|$)/i;

/**
 * Reads the URL of a PostgreSQL database as libpq, JDBC and Prisma write it. Parameters for other drivers are left out.
 *
 * @throws UnfitUrl
 * @example `postgres://app:secret@db.example/app?sslmode=require&schema=billing`
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  if (SEVERAL_HOSTS.test(text)) {
    throw new UnfitUrl(
      'names several hosts, but Instep does not look for the primary',
      'set it to one address that leads there, such as that of HAProxy, a virtual address, or the endpoint of a managed database',
    );
  }
  const { username, password, hostname, port, pathname, searchParams } = partsOf(text.trim());
  // As in libpq, a parameter takes precedence.
  const read = (parameter: string, part: string) =>
    searchParams.get(parameter) || decoded(part) || undefined;
  const number = read('port', port);
  const { options, searchPath } = searchPathOf(searchParams);
  return {
    connection: {
      host: read('host', hostname.replace(/^\[(.*)\]$/, '$1')),
      port: number === undefined ? undefined : Number(number),
      user: read('user', username),
      password: read('password', password),
      database: read('dbname', pathname.slice(1)),
      ssl: tlsOf(searchParams),
      options,
    },
    searchPath,
  };
}

function partsOf(text: string): URL {
  const whole = text.replace(NO_HOST, '$&localhost');
  const isUrl = /^postgres(?:ql)?:\/\//i.test(whole) && URL.canParse(whole);
  const url = isUrl ? new URL(whole) : null;
  // Of a password with `@` as well as `#`, `?` or `/`, the rest would be taken for something else, and be logged.
  if (url === null || url.hash !== '' || url.pathname.includes('@')) {
    throw new UnfitUrl(
      'must be embedded, or a URL such as postgres://user:password@host:5432/name',
      'in a password, write @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F',
    );
  }
  return url;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UnfitUrl('has a % that begins no escape', 'write it as %25');
  }
}

/** A database for people: without what can be secret. */
export function describeAddress({ connection: { host, port, database } }: DatabaseAddress): string {
  const address = `${host ?? 'localhost'}${port === undefined ? '' : `:${port}`}`;
  return `PostgreSQL at ${address}${database === undefined ? '' : `, database ${database}`}`;
}

/** The values of `ssl`, as other drivers write it, and of `sslmode` without TLS. */
const WITHOUT_TLS: readonly string[] = ['disable', 'false', 'no', 'off', '0'];

/**
 * Every other mode but `no-verify` verifies the server, also one that Instep does not know. `undefined`: the URL says
 * nothing, so the variable PGSSLMODE does.
 */
function tlsOf(parameters: URLSearchParams): ServerConnection['ssl'] {
  const mode = parameters.get('sslmode') || parameters.get('ssl') || '';
  if (WITHOUT_TLS.includes(mode)) return false;
  const ca = fileOf(parameters, 'sslrootcert');
  const cert = fileOf(parameters, 'sslcert');
  const key = fileOf(parameters, 'sslkey');
  const isNamed = parameters.has('sslrootcert') || cert !== undefined || key !== undefined;
  if (mode === '' && !isNamed) return undefined;
  return { ca, cert, key, ...(mode === 'no-verify' && { rejectUnauthorized: false }) };
}

/** The file that a parameter names; `undefined` without one, and for the issuers that Node.js trusts. */
function fileOf(parameters: URLSearchParams, parameter: string): string | undefined {
  const path = parameters.get(parameter) || 'system';
  if (path === 'system') return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new UnfitUrl(
      `has the parameter ${parameter}, whose file can't be read${code}`,
      'set it to the path of a PEM file',
    );
  }
}

/**
 * The same database, whose server must have a certificate of this issuer (PEM) for its host name, whatever the URL says of
 * verifying it; `null`: the URL turns TLS off.
 */
export function withIssuer(address: DatabaseAddress, ca: string): DatabaseAddress | null {
  const { connection } = address;
  if (connection.ssl === false) return null;
  const { cert, key } = connection.ssl ?? { cert: undefined, key: undefined };
  return { ...address, connection: { ...connection, ssl: { ca, cert, key } } };
}

/** In the `options` of libpq: `-c search_path=app,public`, with a backslash before spaces. */
const OPTION = /(?:^|\s)(?:-c\s*|--)search[_-]path=((?:\\.|[^\s\\])*)/;

/**
 * The search path in the form of libpq (`options`), JDBC (`currentSchema`) or Prisma (`schema`), or under its own name,
 * and what remains of the options. Instep sets it in each session or transaction, because a pooler refuses or drops it
 * when a connection starts.
 */
function searchPathOf(parameters: URLSearchParams) {
  const given = parameters.get('options') ?? '';
  const [option = '', value = ''] = OPTION.exec(given) ?? [];
  const options = given.replace(option, '').trim() || undefined;
  const schema = parameters.get('schema');
  if (schema) return { options, searchPath: [schema] };
  const path = parameters.get('search_path') ?? parameters.get('currentSchema');
  const names = namesIn(path || value.replace(/\\(.)/g, '$1'));
  return { options, searchPath: names.length === 0 ? null : names };
}

/** The names in a list as in SQL: lower case, unless they are quoted. */
function namesIn(list: string): string[] {
  return [...list.matchAll(/"((?:[^"]|"")+)"|([^",\s]+)/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.toLowerCase(),
  );
}
