import { InstepError } from '../runtime/errors.ts';
import type { Database, Query } from './database.ts';
import { sqlState } from './errors.ts';
import { type Migration, readMigrations } from './migrations.ts';

/** The database was migrated by a newer Instep than this one. */
export class SchemaNewer extends InstepError {
  readonly code = 'SCHEMA_NEWER';
}

/** The database lacks migrations that this program needs. */
export class SchemaOutdated extends InstepError {
  readonly code = 'SCHEMA_OUTDATED';
}

/** Any number, as long as every Instep locks the same one. */
const MIGRATION_LOCK = 4_673_837;

/**
 * Brings the database up to this program, in one transaction: all pending migrations or none. Of
 * several instances that start at once, one migrates and the others wait for it. Returns the
 * names of the migrations that it ran.
 *
 * @throws SchemaNewer when the database is ahead of the program
 */
export async function migrate(database: Database): Promise<string[]> {
  const { ledger, migrations } = readMigrations();
  // Without anything to do it needs no rights but to read the list.
  if (pendingAfter(await appliedVersion(database.query), migrations).length === 0) return [];
  return await database.transaction(async (query) => {
    // Held by the transaction, not by the session, so that it works through PgBouncer.
    await query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await query(ledger.sql);
    const pending = pendingAfter(await appliedVersion(query), migrations);
    for (const { version, name, sql } of pending) {
      await query(sql);
      await query('insert into instep.migrations (version, name) values ($1, $2)', [version, name]);
    }
    return pending.map(({ name }) => name);
  });
}

/**
 * Makes sure that the database is just where this program needs it, without changing it.
 *
 * @throws SchemaNewer or SchemaOutdated
 */
export async function checkSchema(query: Query): Promise<void> {
  const pending = pendingAfter(await appliedVersion(query), readMigrations().migrations);
  if (pending.length > 0) {
    throw new SchemaOutdated(
      `the database lacks ${pending.map(({ name }) => name).join(', ')}: run \`instep migrate\``,
    );
  }
}

async function appliedVersion(query: Query): Promise<number> {
  try {
    const [row] = await query<{ version: number | null }>(
      'select max(version) as version from instep.migrations',
    );
    return row?.version ?? 0;
  } catch (error) {
    if (error instanceof Error && UNDEFINED_TABLE.has(sqlState(error.cause))) return 0;
    throw error;
  }
}

/** The table is not there, or not even the schema. */
const UNDEFINED_TABLE = new Set(['42P01', '3F000']);

function pendingAfter(applied: number, known: readonly Migration[]): Migration[] {
  const newest = known.at(-1)?.version ?? 0;
  if (applied > newest) {
    throw new SchemaNewer(
      `the database is at migration ${applied}, this Instep knows ${newest}: run the newer Instep`,
    );
  }
  return known.filter(({ version }) => version > applied);
}
