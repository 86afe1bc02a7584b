// The one reader of PostgreSQL URLs. `pg` gets what is read here, and no parameter by itself: it would take `ssl=false`
// for a wish for TLS, and fail outside of any promise.

import { readFileSync } from 'node:fs';
import type { ServerConnection } from './connection-options.ts';

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

/** The host can be a parameter instead, such as the directory of a socket, but a URL with a user must have one. */
const NO_HOST = /^postgres(?:ql)?:\/\/[^/?#]*@(?=[/?]|$)/i;

/**
 * Reads the URL of a PostgreSQL database as libpq, JDBC and Prisma write it. Parameters for other drivers are left out.
 *
 * @throws UnfitUrl
 * @example `postgres://app:secret@db.example/app?sslmode=require&schema=billing`
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const { username, password, hostname, port, pathname, searchParams } = partsOf(text.trim());
  // As in libpq, a parameter takes precedence.
  const read = (parameter: string, part: string) =>
    searchParams.get(parameter) || decoded(part) || undefined;
  const number = read('port', port);
  // As Prisma and JDBC call it. Instep sets it in each session or transaction, because a pooler refuses or drops it when a
  // connection starts.
  const schemas = ['schema', 'search_path', 'currentSchema'].map((name) => searchParams.get(name));
  const searchPath = schemas.find((names) => names)?.split(/\s*,\s*/) ?? null;
  return {
    connection: {
      host: read('host', hostname.replace(/^\[(.*)\]$/, '$1')),
      port: number === undefined ? undefined : Number(number),
      user: read('user', username),
      password: read('password', password),
      database: read('dbname', pathname.slice(1)),
      ssl: tlsOf(searchParams),
      options: searchParams.get('options') ?? undefined,
    },
    searchPath,
  };
}

function partsOf(text: string): URL {
  const whole = text.replace(NO_HOST, '$&localhost');
  const isUrl = /^postgres(?:ql)?:\/\//i.test(whole) && URL.canParse(whole);
  const url = isUrl ? new URL(whole) : null;
  // Of a password with `@` as well as `#`, `?` or `/`, the rest would be taken for something else, and be logged.
  const isCut = url !== null && (url.hash !== '' || url.pathname.includes('@'));
  if (url === null || isCut || url.hostname.includes(',')) {
    throw new UnfitUrl(
      'must be embedded, or a URL with one host, such as postgres://user:password@host:5432/name',
      'of a cluster, set the address that leads to the primary; in a password, write @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F',
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
