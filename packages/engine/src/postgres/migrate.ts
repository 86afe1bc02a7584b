// Runs migrations, and says whether a schema is the one of this program.

import { CodedError } from '../runtime/errors.ts';
import { retry } from '../runtime/retry.ts';
import type { Database, Query } from './database.ts';
import { DatabaseBusy } from './errors.ts';
import { ENGINE_SCHEMA } from './schema.ts';

/** A change of the schema. A released one is never changed. */
export type Migration = {
  /** `engine`, or the name of the feature whose tables these are. */
  readonly owner: string;
  readonly version: number;
  readonly name: string;
  /**
   * Programs that know this version still work after the migration: they write what it needs, and
   * read nothing that it removes. Instances of such a program stay ready beside the newer ones.
   */
  readonly compatibleFrom: number;
  readonly sql: string;
};

/** The engine's, in order. They are a module rather than SQL files, so that an app's bundler finds them. */
export const ENGINE_MIGRATIONS: readonly Migration[] = [
  { owner: 'engine', version: 1, name: '0001_engine', compatibleFrom: 1, sql: ENGINE_SCHEMA },
];

/** The version of an owner's last migration. */
export function newestVersion(migrations: readonly Migration[], owner: string): number {
  return migrations.findLast((migration) => migration.owner === owner)?.version ?? 0;
}

/**
 * The schema of the database is not the one of this program: another Instep has migrated it in a way that this one can't
 * work with, or it lacks migrations.
 */
export class SchemaMismatch extends CodedError<'SCHEMA_NEWER' | 'SCHEMA_OUTDATED'> {
  readonly problem: string;
  readonly advice: string;

  constructor(code: SchemaMismatch['code'], problem: string, advice: string) {
    super(code, `${problem}: ${advice}`);
    this.problem = problem;
    this.advice = advice;
  }
}

/** An arbitrary number that every instance locks. */
const MIGRATION_LOCK = 4_673_837;

/**
 * A backup locks every table that it reads until it ends. While a migration waits for such a table, events wait
 * behind the migration. So it waits only briefly, lets them pass, and tries again.
 */
const TABLE_LOCK_TIMEOUT_MS = 500;
const RETRY_AFTER_MS = 500;
const GIVE_UP_AFTER_MS = 60_000;

type MigrateOptions = {
  readonly migrations: readonly Migration[];
  /** The SQL of what else is created after the migrations, such as the application's tables. */
  readonly others?: string;
  /** Checks the migrated database, in the same transaction: when it throws, nothing has changed. */
  readonly verify?: (query: Query) => Promise<unknown>;
};

/**
 * Migrates the database to this program's version in one transaction: all pending migrations or none. If
 * several instances start at once, one migrates and the others wait for it. Returns the names of the
 * migrations that it ran.
 *
 * @throws SchemaMismatch when the program can't migrate the database, DatabaseBusy when a table stays locked, and the
 * errors of `verify`
 */
export async function migrate(
  database: Database,
  { migrations, others = '', verify = async () => undefined }: MigrateOptions,
): Promise<string[]> {
  // Without pending migrations, this needs only the privilege to read `instep.migrations`.
  if ((await readPending(database.query, migrations)).length === 0) {
    await verify(database.query);
    return [];
  }
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
  return await retry(
    () =>
      database.transaction(async (query) => {
        // Held by the transaction and not by the session, so that it works through PgBouncer.
        await query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
        await query(`set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`);
        const pending = await readPending(query, migrations);
        for (const { owner, version, name, sql, compatibleFrom } of pending) {
          await query(sql);
          await query(RECORD_MIGRATION, [owner, version, name, compatibleFrom]);
        }
        await query(others);
        await verify(query);
        return pending.map(({ name }) => name);
      }),
    {
      isRetryable: (error) => error instanceof DatabaseBusy && performance.now() < giveUpAtMs,
      firstPauseMs: RETRY_AFTER_MS,
      longestPauseMs: RETRY_AFTER_MS,
    },
  );
}

const RECORD_MIGRATION = `
      insert into instep.migrations (owner, version, name, compatible_from)
      values ($1, $2, $3, $4)`;

/**
 * Checks that the database has the migrations that this program knows, and none that it can't work
 * with.
 *
 * @throws SchemaMismatch
 */
export async function checkSchema(query: Query, migrations: readonly Migration[]): Promise<void> {
  const pending = await readPending(query, migrations);
  if (pending.length === 0) return;
  const names = pending.map(({ name }) => name).join(', ');
  const problem = `the database lacks ${names}`;
  throw new SchemaMismatch('SCHEMA_OUTDATED', problem, 'run `instep migrate`');
}

/**
 * The migrations that the database lacks, in order. Tables of a feature that this program does not have stay as they are.
 *
 * @throws SchemaMismatch when a newer version has migrated it
 */
async function readPending(query: Query, known: readonly Migration[]): Promise<Migration[]> {
  const applied = new Map((await readApplied(query)).map((one) => [one.owner, one]));
  for (const { owner, version, compatibleFrom } of applied.values()) {
    const newest = newestVersion(known, owner);
    if (newest > 0 && compatibleFrom > newest) {
      throw new SchemaMismatch(
        'SCHEMA_NEWER',
        `the database is at migration ${version} of ${owner}, but this version of Instep knows only ${newest}`,
        'run the version that migrated it',
      );
    }
  }
  return known.filter(({ owner, version }) => version > (applied.get(owner)?.version ?? 0));
}

/** The last migration of each owner. */
type Applied = Pick<Migration, 'owner' | 'version' | 'compatibleFrom'>;

async function readApplied(query: Query): Promise<Applied[]> {
  // Not `to_regclass`: it answers from a cache that may be older than the migration lock.
  const tables = await query(
    `select from pg_tables where schemaname = 'instep' and tablename = 'migrations'`,
  );
  if (tables.length === 0) return [];
  return await query<Applied>(`
    select owner, max(version) as version, max(compatible_from) as "compatibleFrom"
      from instep.migrations
     group by owner`);
}
