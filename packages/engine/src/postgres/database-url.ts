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

const PARTS = /^([a-z]+:\/\/[^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?(.*)$/s;

const START =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@]*)(?::(?<password>[^@]*))?@)?(?<host>\[[\da-f:.]+\]|[^:[\]]*)(?::(?<port>\d{1,5})?)?$/i;

/** libpq's form of a cluster. */
const SEVERAL_HOSTS = /^postgres(?:ql)?:\/\/(?:[^@]*@)?[^@,]*,/i;

/**
 * Reads the URL of a PostgreSQL database as libpq, JDBC and Prisma write it. Parameters for other drivers are left out.
 *
 * @throws UnfitUrl
 * @example `postgres://app:secret@db.example/app?sslmode=require&schema=billing`
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const [, start = '', path = '', query = '', rest = ''] = PARTS.exec(text.trim()) ?? [];
  if (SEVERAL_HOSTS.test(start)) {
    throw new UnfitUrl(
      'names several hosts, but Instep does not look for the primary',
      'set it to one address that leads there, such as that of HAProxy, a virtual address, or the endpoint of a managed database',
    );
  }
  const { groups } = START.exec(start) ?? {};
  // Of a password with `@` as well as `#`, `?` or `/`, the rest would be taken for something else, and be logged.
  if (groups === undefined || rest !== '' || path.includes('@')) {
    throw new UnfitUrl(
      'must be embedded, or a URL such as postgres://user:password@host:5432/name',
      'in a password, write @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F',
    );
  }
  const parameters = new URLSearchParams(query);
  // As in libpq, a parameter takes precedence. A host that is the directory of a socket is often written as one.
  const read = (parameter: string, part: string | undefined) =>
    parameters.get(parameter) || decoded(part ?? '') || undefined;
  const { options, searchPath } = searchPathOf(parameters);
  const port = read('port', groups.port);
  return {
    connection: {
      host: read('host', groups.host?.replace(/^\[(.*)\]$/, '$1')),
      port: port === undefined ? undefined : Number(port),
      user: read('user', groups.user),
      password: read('password', groups.password),
      database: read('dbname', path),
      ssl: tlsOf(parameters),
      options,
    },
    searchPath,
  };
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

/** The values of `ssl`, as other drivers write it, in those of `sslmode`. */
const SSL: Readonly<Record<string, string>> = {
  ...{ true: 'require', yes: 'require', on: 'require', 1: 'require' },
  ...{ false: 'disable', no: 'disable', off: 'disable', 0: 'disable' },
};

const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Every mode verifies the server, except `no-verify` and, if the URL asks for libpq's meaning, those that don't in
 * libpq. `undefined`: the URL says nothing, so the variable PGSSLMODE does.
 */
function tlsOf(parameters: URLSearchParams): ServerConnection['ssl'] {
  const parameter = parameters.get('sslmode') ? 'sslmode' : 'ssl';
  const given = parameters.get(parameter) ?? '';
  const mode = parameter === 'ssl' ? (SSL[given] ?? given) : given;
  if (mode !== '' && !SSL_MODES.includes(mode)) {
    throw new UnfitUrl(
      `has the parameter ${parameter} with a value that Instep does not know`,
      'sslmode is disable, no-verify or verify-full, or left out',
    );
  }
  const ca = fileOf(parameters, 'sslrootcert');
  const cert = fileOf(parameters, 'sslcert');
  const key = fileOf(parameters, 'sslkey');
  if (mode === 'disable') return false;
  const isNamed = parameters.has('sslrootcert') || cert !== undefined || key !== undefined;
  if (mode === '' && !isNamed) return undefined;
  const isLikeLibpq = parameters.get('uselibpqcompat') === 'true';
  const isUnverified = mode === 'prefer' || (mode === 'require' && ca === undefined);
  const isOnlyOfIssuer = ca !== undefined && (mode === 'require' || mode === 'verify-ca');
  return {
    ...{ ca, cert, key },
    ...(mode === 'no-verify' || (isLikeLibpq && isUnverified) ? { rejectUnauthorized: false } : {}),
    ...(isLikeLibpq && isOnlyOfIssuer ? { checkServerIdentity: () => undefined } : {}),
  };
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
