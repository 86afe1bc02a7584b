// The settings of the database, and the app's tables in INSTEP_TABLES, for config.ts.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type DatabaseAddress,
  describeAddress,
  FIELDS,
  parseDatabaseUrl,
  UnfitUrl,
  type WantedTables,
  withIssuer,
} from 'instep-engine/postgres';
import * as v from 'valibot';
import { type Environment, oneOf, withRemedy } from './environment.ts';

export type DatabaseConfig = {
  /** `null` for the embedded database. */
  readonly address: DatabaseAddress | null;
  /** The data directory of the embedded database; an absolute path. */
  readonly dataFolder: string;
  /** What to find of the application's tables, with the names that Instep can't recognize. */
  readonly tables: WantedTables;
};

/**
 * Without `DATABASE_URL`, `POSTGRES_URL` is used, which many apps and platforms set. The embedded database is the
 * default only where nothing suggests that another one was meant.
 */
export function databasePart(environment: Environment) {
  const other = environment.DATABASE_URL ? undefined : environment.POSTGRES_URL || undefined;
  const reason = environment.DATABASE_URL || other ? null : reasonAgainstEmbedded(environment);
  const subject = other === undefined ? '' : 'is not set, and POSTGRES_URL ';
  const variables = v.object({
    DATABASE_URL: v.pipe(
      v.optional(v.string(), other ?? (reason === null ? 'embedded' : '')),
      v.check(
        (text) => text !== '',
        withRemedy(
          `is missing, and ${reason}`,
          'set it to the URL of your PostgreSQL, or to embedded',
        ),
      ),
      v.rawTransform<string, DatabaseAddress | null>(
        ({ dataset: { value: text }, addIssue, NEVER }) => {
          if (text === 'embedded') return null;
          try {
            return parseDatabaseUrl(text);
          } catch (error) {
            if (!(error instanceof UnfitUrl)) throw error;
            addIssue({ message: withRemedy(`${subject}${error.problem}`, error.remedy) });
            return NEVER;
          }
        },
      ),
    ),
    DATABASE_CA: certificate,
    INSTEP_DATA: v.optional(v.string(), './data'),
    INSTEP_TABLES: declaredTables,
    PROFILE: oneOf('on', 'off'),
    PROFILE_PASSWORD_HASH: oneOf('include', 'omit'),
  });
  const hasTls = v.check<v.InferOutput<typeof variables>, string>(
    (value) => value.DATABASE_CA === undefined || value.DATABASE_URL?.connection.ssl !== false,
    withRemedy(
      'is set, but DATABASE_URL turns TLS off',
      'remove sslmode from the URL, or the variable',
    ),
  );
  return v.pipe(
    variables,
    v.forward(hasTls, ['DATABASE_CA']),
    v.transform(
      ({ DATABASE_URL: url, DATABASE_CA: issuer, ...value }): DatabaseConfig => ({
        address: url === null || issuer === undefined ? url : withIssuer(url, issuer),
        dataFolder: resolve(value.INSTEP_DATA),
        tables: { ...value.INSTEP_TABLES, profile: profileOf(value) },
      }),
    ),
  );
}

function profileOf(value: {
  readonly PROFILE: 'on' | 'off';
  readonly PROFILE_PASSWORD_HASH: 'include' | 'omit';
}): WantedTables['profile'] {
  if (value.PROFILE === 'off') return 'off';
  return value.PROFILE_PASSWORD_HASH === 'include' ? 'full' : 'without password';
}

/** Describes the database for people, without the secret parts of a URL. */
export function describeDatabase({ address, dataFolder }: DatabaseConfig): string {
  return address === null ? `embedded PostgreSQL in ${dataFolder}` : describeAddress(address);
}

function reasonAgainstEmbedded(environment: Environment): string | null {
  if (environment.NODE_ENV === 'production') return 'NODE_ENV is production';
  // Of PostgreSQL's own programs.
  if (environment.PGHOST) return 'PGHOST is set';
  return null;
}

const IS_CERTIFICATE = /-----BEGIN CERTIFICATE-----/;

/** One or more certificates in PEM, or the path of a file with them. */
const certificate = v.optional(
  v.pipe(
    v.string(),
    v.rawTransform<string, string>(({ dataset: { value: text }, addIssue, NEVER }) => {
      try {
        // Some platforms keep a variable on one line.
        const pem = IS_CERTIFICATE.test(text)
          ? text.replaceAll('\\n', '\n')
          : readFileSync(text, 'utf8');
        if (IS_CERTIFICATE.test(pem)) return pem;
      } catch {
        // No such file.
      }
      addIssue({ message: 'must be a certificate in PEM, or the path of a file with it' });
      return NEVER;
    }),
  ),
);

/** Statements quote these names, and PostgreSQL truncates longer ones. */
const name = v.pipe(
  v.string('must be a name'),
  v.regex(/^\P{Cc}{1,63}$/u, 'must be a name of 1 to 63 characters'),
);

function table(fields: object) {
  const names = Object.keys(fields);
  const field = v.picklist(
    names,
    `is not a field of this table: the fields are ${names.join(', ')}`,
  );
  const entries = {
    schema: v.optional(name),
    table: v.optional(name),
    columns: v.optional(v.record(field, v.nullable(name))),
  };
  return v.optional(v.strictObject(entries, 'can have only schema, table and columns'));
}

const tables = v.strictObject(
  { users: table(FIELDS.users), teams: table(FIELDS.teams), members: table(FIELDS.members) },
  'can have only users, teams and members',
);

const EXAMPLE = '{"teams": {"table": "organizations", "columns": {"planName": "plan"}}}';

/** `INSTEP_TABLES`: JSON, or the path of a file with it. */
const declaredTables = v.pipe(
  v.optional(v.string(), '{}'),
  v.rawTransform<string, unknown>(({ dataset: { value: text }, addIssue, NEVER }) => {
    try {
      return JSON.parse(text.trimStart().startsWith('{') ? text : readFileSync(text, 'utf8'));
    } catch (error) {
      const reason = error instanceof Error ? error.message : "it can't be read";
      const expected = `must be JSON such as ${EXAMPLE}, or the path of a file with it`;
      addIssue({ message: `${expected} (${reason})` });
      return NEVER;
    }
  }),
  tables,
);
