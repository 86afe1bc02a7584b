import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import * as v from 'valibot';
import { hostOf, parseDatabaseUrl } from '../postgres/database-url.ts';
import type { DeclaredTables } from '../postgres/tables/application-tables.ts';
import type { Environment } from './environment.ts';
import { declaredTables } from './tables.ts';

export type DatabaseConfig = {
  /** One for each server that can be the primary; none for the embedded database. */
  readonly databaseUrls: readonly URL[];
  /** The data directory of the embedded database; an absolute path. */
  readonly dataFolder: string;
  /** The application's tables and columns whose names Instep can't recognize. */
  readonly tables: DeclaredTables;
};

/** The embedded database is the default only where nothing suggests that another one was meant. */
export function databaseVariables(environment: Environment) {
  const reason = environment.DATABASE_URL ? null : reasonAgainstEmbedded(environment);
  return {
    DATABASE_URL: v.pipe(
      v.optional(v.string(), reason === null ? 'embedded' : ''),
      v.check(
        (text) => text !== '',
        `is missing, and ${reason}: set it to the URL of your PostgreSQL, or to embedded`,
      ),
      v.transform((text) => (text === 'embedded' ? [] : parseDatabaseUrl(text))),
      v.check(
        (urls) => urls !== null,
        'must be embedded, or a URL such as postgres://user:password@host:5432/name (several ' +
          'servers: host:5432,other:5432; target_session_attrs is read-write or primary, or left out; ' +
          'sslmode is disable, no-verify or verify-full, or left out)',
      ),
      v.transform((urls) => urls ?? []),
    ),
    INSTEP_DATA: v.optional(v.string(), './data'),
    INSTEP_TABLES: declaredTables,
  };
}

type DatabaseVariables = v.InferOutput<
  v.ObjectSchema<ReturnType<typeof databaseVariables>, undefined>
>;

export function toDatabaseConfig(value: DatabaseVariables): DatabaseConfig {
  return {
    databaseUrls: value.DATABASE_URL,
    dataFolder: resolve(value.INSTEP_DATA),
    tables: value.INSTEP_TABLES,
  };
}

/** Describes the database for people, without the secret parts of a URL. */
export function describeDatabase({ databaseUrls, dataFolder }: DatabaseConfig): string {
  const [first] = databaseUrls;
  if (first === undefined) return `embedded PostgreSQL in ${dataFolder}`;
  const hosts = databaseUrls.map(hostOf).join(', ');
  const name = first.pathname.slice(1);
  return `PostgreSQL at ${hosts}${name === '' ? '' : `, database ${name}`}`;
}

/** Variables that apps and PostgreSQL's own programs use for the same purpose. */
const OTHER_NAMES = ['POSTGRES_URL', 'PGHOST'];

function reasonAgainstEmbedded(environment: Environment): string | null {
  if (environment.NODE_ENV === 'production') return 'NODE_ENV is production';
  const set = OTHER_NAMES.find((name) => environment[name]);
  if (set !== undefined) return `${set} is set`;
  // Any other environment, such as a test's, is complete without a file.
  const inFile = environment === process.env ? readDotEnv() : {};
  const listed = [...OTHER_NAMES, 'DATABASE_URL'].find((name) => inFile[name]);
  return listed === undefined ? null : `${listed} is set in .env`;
}

/** The command line has loaded this file already, but an app that mounts the library might not have. */
function readDotEnv(): Environment {
  try {
    return parseEnv(readFileSync('.env', 'utf8'));
  } catch {
    return {};
  }
}
