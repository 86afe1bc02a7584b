import { InstepError } from '../runtime/errors.ts';
import { retry } from '../runtime/retry.ts';
import type { Database, Query } from './database.ts';
import { sqlState } from './errors.ts';
import { sql as instep } from './migrations/0001-instep.ts';
import { sql as teamSubscriptions } from './migrations/0002-team-subscriptions.ts';
import { sql as operators } from './migrations/0003-operators.ts';
import { sql as oneJobsTable } from './migrations/0004-one-jobs-table.ts';
import { sql as askedSubscription } from './migrations/0005-asked-subscription.ts';
import { sql as latestStates } from './migrations/0006-latest-states.ts';
import { sql as doubleBilling } from './migrations/0007-double-billing.ts';
import { sql as planChanges } from './migrations/0008-plan-changes.ts';
import { sql as requestedCustomers } from './migrations/0009-requested-customers.ts';
import { sql as evidence } from './migrations/0010-evidence.ts';
import { sql as grants } from './migrations/0011-grants.ts';
import { sql as planChangeFeed } from './migrations/0012-plan-change-feed.ts';
import { sql as dismissals } from './migrations/0013-dismissals.ts';
import { sql as doubleBillingOfEvents } from './migrations/0014-double-billing-of-events.ts';
import { sql as timeline } from './migrations/0015-timeline.ts';
import { sql as people } from './migrations/0016-people.ts';
import { sql as oneRowPerSubscription } from './migrations/0017-one-row-per-subscription.ts';

/** A newer Instep has migrated the database, and this one can't work with it. */
export class SchemaNewer extends InstepError {
  readonly code = 'SCHEMA_NEWER';
  /** The last migration of the database, and the last one that this program knows. */
  readonly applied: number;
  readonly known: number;

  constructor(applied: number, known: number) {
    super(
      `the database is at migration ${applied}, but this version of Instep knows only ${known}: run the newer version`,
    );
    this.applied = applied;
    this.known = known;
  }
}

/** The database lacks migrations that this program needs. */
export class SchemaOutdated extends InstepError {
  readonly code = 'SCHEMA_OUTDATED';
  /** The names of the migrations. */
  readonly pending: readonly string[];

  constructor(pending: readonly string[]) {
    super(`the database lacks ${pending.join(', ')}: run \`instep migrate\``);
    this.pending = pending;
  }
}

/** A migration must change a table that another session is using for a long time. */
export class SchemaInUse extends InstepError {
  readonly code = 'SCHEMA_IN_USE';
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

/** PostgreSQL's `lock_not_available`. */
const LOCK_TIMEOUT_STATE = '55P03';

type MigrateOptions = {
  /** Whether to create the application's tables when it has neither; true when left out. */
  createsTables?: boolean;
  migrations?: readonly Migration[];
  /** Checks the migrated database, in the same transaction: when it throws, nothing has changed. */
  verify?: (query: Query) => Promise<unknown>;
  /** How long to try to lock the tables; a minute when left out. */
  giveUpAfterMs?: number;
};

/**
 * Migrates the database to this program's version in one transaction: all pending migrations or none. If
 * several instances start at once, one migrates and the others wait for it. Returns the names of the
 * migrations that it ran.
 *
 * @throws SchemaNewer when the database is too new for the program, SchemaInUse when a table stays locked, and
 * the errors of `verify`
 */
export async function migrate(
  database: Database,
  {
    migrations = MIGRATIONS,
    verify = async () => undefined,
    createsTables = true,
    giveUpAfterMs = GIVE_UP_AFTER_MS,
  }: MigrateOptions = {},
): Promise<string[]> {
  // Without pending migrations, this needs only the privilege to read `instep.migrations`.
  if ((await readPending(database.query, migrations)).length === 0) {
    await verify(database.query);
    return [];
  }
  const giveUpAtMs = performance.now() + giveUpAfterMs;
  return await retry(
    () =>
      database.transaction(async (query) => {
        // Held by the transaction and not by the session, so that it works through PgBouncer.
        await query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
        await query(
          `select set_config('instep.creates_tables', $1, true), set_config('lock_timeout', $2, true)`,
          [String(createsTables), String(TABLE_LOCK_TIMEOUT_MS)],
        );
        const pending = await readPending(query, migrations);
        for (const migration of pending) await run(query, migration);
        await verify(query);
        return pending.map(({ name }) => name);
      }),
    {
      isRetryable: (error) => error instanceof SchemaInUse && performance.now() < giveUpAtMs,
      firstPauseMs: RETRY_AFTER_MS,
      longestPauseMs: RETRY_AFTER_MS,
    },
  );
}

async function run(query: Query, { version, name, sql, compatibleFrom }: Migration): Promise<void> {
  try {
    await query(sql);
  } catch (cause) {
    if (sqlState(cause) !== LOCK_TIMEOUT_STATE) throw cause;
    throw new SchemaInUse(
      `another session, such as a backup, uses a table that ${name} must change, so nothing was ` +
        'changed: try again when that session has ended',
      { cause },
    );
  }
  await query(
    'insert into instep.migrations (version, name, compatible_from) values ($1, $2, $3)',
    [version, name, compatibleFrom],
  );
}

/**
 * Checks that the database has the migrations that this program knows, and none that it can't work
 * with.
 *
 * @throws SchemaNewer or SchemaOutdated
 */
export async function checkSchema(query: Query): Promise<void> {
  const pending = await readPending(query, MIGRATIONS);
  if (pending.length > 0) {
    throw new SchemaOutdated(pending.map(({ name }) => name));
  }
}

async function readPending(query: Query, known: readonly Migration[]): Promise<Migration[]> {
  const { version: applied, compatibleFrom } = await readSchema(query);
  const newest = known.at(-1)?.version ?? 0;
  if (compatibleFrom > newest) {
    throw new SchemaNewer(applied, newest);
  }
  return known.filter(({ version }) => version > applied);
}

async function readSchema(query: Query): Promise<typeof EMPTY> {
  // Not `to_regclass`: it answers from a cache that may be older than the migration lock.
  const tables = await query(
    `select from pg_tables where schemaname = 'instep' and tablename = 'migrations'`,
  );
  if (tables.length === 0) return EMPTY;
  const [newest] = await query<typeof EMPTY>(`
    select version, max(compatible_from) over () as "compatibleFrom"
      from instep.migrations
     order by version desc
     limit 1`);
  return newest ?? EMPTY;
}

const EMPTY = { version: 0, compatibleFrom: 0 };

type Migration = {
  version: number;
  name: string;
  sql: string;
  /**
   * Programs that know this version still work after the migration: they write what it needs, and
   * read nothing that it removes. Instances of such a program stay ready beside the newer ones.
   */
  compatibleFrom: number;
};

/** All migrations in order. They are modules rather than SQL files, so that an app's bundler finds them. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: '0001_instep', sql: instep, compatibleFrom: 1 },
  { version: 2, name: '0002_team_subscriptions', sql: teamSubscriptions, compatibleFrom: 1 },
  { version: 3, name: '0003_operators', sql: operators, compatibleFrom: 1 },
  { version: 4, name: '0004_one_jobs_table', sql: oneJobsTable, compatibleFrom: 4 },
  { version: 5, name: '0005_asked_subscription', sql: askedSubscription, compatibleFrom: 4 },
  { version: 6, name: '0006_latest_states', sql: latestStates, compatibleFrom: 6 },
  { version: 7, name: '0007_double_billing', sql: doubleBilling, compatibleFrom: 6 },
  { version: 8, name: '0008_plan_changes', sql: planChanges, compatibleFrom: 8 },
  { version: 9, name: '0009_requested_customers', sql: requestedCustomers, compatibleFrom: 8 },
  { version: 10, name: '0010_evidence', sql: evidence, compatibleFrom: 8 },
  { version: 11, name: '0011_grants', sql: grants, compatibleFrom: 8 },
  { version: 12, name: '0012_plan_change_feed', sql: planChangeFeed, compatibleFrom: 8 },
  { version: 13, name: '0013_dismissals', sql: dismissals, compatibleFrom: 8 },
  {
    version: 14,
    name: '0014_double_billing_of_events',
    sql: doubleBillingOfEvents,
    compatibleFrom: 8,
  },
  { version: 15, name: '0015_timeline', sql: timeline, compatibleFrom: 8 },
  { version: 16, name: '0016_people', sql: people, compatibleFrom: 8 },
  {
    version: 17,
    name: '0017_one_row_per_subscription',
    sql: oneRowPerSubscription,
    compatibleFrom: 17,
  },
];
