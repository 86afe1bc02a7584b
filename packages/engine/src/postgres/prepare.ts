// Brings the schema of a database up to date, and checks the application's tables.

import { InstepError } from '../runtime/errors.ts';
import type { Database, DatabaseServer } from './database.ts';
import { DatabaseUnusable } from './errors.ts';
import { ENGINE_MIGRATIONS, type Migration, migrate } from './migrate.ts';
import { createTables } from './schema.ts';
import { onlyRow, type Query } from './statement.ts';
import { findHiddenRows } from './tables/privileges.ts';
import {
  applicationTablesOf,
  type Recognition,
  recognizeTables,
} from './tables/recognize-tables.ts';
import { keptPlanName, writtenText } from './tables/recognized-tables.ts';

/** What a feature has in the schema `instep`. */
export type FeatureSchema = {
  readonly name: string;
  readonly migrations: readonly Migration[];
  /** Its views, which are made after the migrations, because they depend on the application's tables. */
  readonly views?: readonly string[];
  /** Makes the views, unless they are there. */
  readonly makeViews?: (database: Database, recognition: Recognition) => Promise<void>;
};

export type PrepareOptions = {
  readonly features: readonly FeatureSchema[];
  readonly onConnectionError: (error: Error) => void;
  /** Policies that can hide rows are only a warning, because they can depend on anything. */
  readonly onWarning?: (message: string) => void;
  /** Is told what Instep writes to which of the app's tables. */
  readonly onRecognized?: (text: string) => void;
  /**
   * Whether to create `users` and `teams` if neither exists. By default, only in the embedded database: in any
   * other one, the migrations of the app would find tables that they did not create.
   */
  readonly createsTables?: boolean;
};

/** A migration can rebuild an index, and can wait for the migration of another instance. */
const MIGRATION_TIMEOUT_MS = 60_000;

/** Brings the schema up to date. If the application's tables don't fit, nothing changes. */
export async function prepareServer(
  server: DatabaseServer,
  options: PrepareOptions,
): Promise<string[]> {
  const { features, onConnectionError, onWarning = () => undefined, onRecognized } = options;
  const migrations = [ENGINE_MIGRATIONS, ...features.map((one) => one.migrations)].flat();
  const database = server.open({
    maxConnections: 1,
    statementTimeoutMs: MIGRATION_TIMEOUT_MS,
    onConnectionError,
  });
  let recognition: Recognition | undefined;
  try {
    const ran = await migrate(database, {
      migrations,
      others: tablesToCreate(server, options),
      async verify(query) {
        await checkEncoding(query);
        const views = features.flatMap((one) => one.views ?? []);
        await checkOwnSchema(query, migrations, views);
        recognition = await recognizeTables(query, server.tables);
        applicationTablesOf(recognition);
        const kept = recognition.teams && keptPlanName(recognition.teams);
        if (kept) onWarning(`${kept.text}: as the owner, run ${kept.statement}`);
        for (const { text, policy, bypass } of await findHiddenRows(query, recognition)) {
          onWarning(`${text}: as the owner, run ${policy} or ${bypass}`);
        }
      },
    });
    if (recognition?.teams) onRecognized?.(writtenText(recognition.teams));
    if (recognition !== undefined) await makeAllViews(database, recognition, features, onWarning);
    return ran;
  } finally {
    await database.close();
  }
}

/** The endpoints work without them. */
async function makeAllViews(
  database: Database,
  recognition: Recognition,
  features: readonly FeatureSchema[],
  onWarning: (message: string) => void,
): Promise<void> {
  for (const { makeViews, views = [] } of features) {
    try {
      await makeViews?.(database, recognition);
    } catch (error) {
      if (!(error instanceof InstepError)) throw error;
      onWarning(
        `the view instep.${views.join(', instep.')} is missing or outdated (${error.message}): run \`instep migrate\` as the owner of the schema instep`,
      );
    }
  }
}

/** The application itself creates declared tables. */
function tablesToCreate(
  { tables: { users, teams, profile }, isEmbedded }: DatabaseServer,
  { createsTables = isEmbedded }: PrepareOptions,
): string {
  const canCreate = createsTables && users === undefined && teams === undefined;
  return canCreate ? createTables(profile !== 'off') : '';
}

/** Names of plans and of products can have any character. */
async function checkEncoding(query: Query): Promise<void> {
  const text = `select current_setting('server_encoding') as encoding`;
  const { encoding } = await onlyRow<{ encoding: string }>(query, text);
  if (encoding === 'UTF8') return;
  throw new DatabaseUnusable(`the database's encoding is ${encoding}: Instep needs UTF8`);
}

/** The schema `instep` holds tables that are not ours, which would be deleted with it. */
class SchemaShared extends InstepError {
  readonly code = 'SCHEMA_SHARED';
}

/** If this pattern missed one of ours, no database could be opened. */
const CREATED = /^create table instep\.(\w+)/gm;

// The catalog needs no privilege. Tables of a newer version, or of a feature that is not here, are not in the list.
const READ_FOREIGN_TABLES = `
      select format('instep.%I', relname) as name
        from pg_class
       where relnamespace = to_regnamespace('instep')
         and relkind in ('r', 'p', 'v', 'm', 'f')
         and relname <> all ($1::text[])
         and not exists (
               select
                 from instep.migrations
                where owner || ' ' || version <> all ($2::text[])
             )
       order by relname
       limit 20`;

/**
 * Checks that our schema holds only our tables. `"$user"` is the first name in PostgreSQL's search path, so an app that
 * connects as a role named `instep` creates its tables among ours (docs/postgres.md).
 *
 * @throws SchemaShared
 */
async function checkOwnSchema(
  query: Query,
  migrations: readonly Migration[],
  views: readonly string[],
): Promise<void> {
  const tables = migrations.flatMap(({ sql }) =>
    [...sql.matchAll(CREATED)].map(([, name]) => name),
  );
  const foreign = await query<{ name: string }>(READ_FOREIGN_TABLES, [
    [...tables, ...views],
    migrations.map(({ owner, version }) => `${owner} ${version}`),
  ]);
  if (foreign.length === 0) return;
  const names = foreign.map(({ name }) => name);
  const statements = names.map((name) => `alter table ${name} set schema public;`);
  throw new SchemaShared(
    `the schema instep must hold only Instep's tables, but has ${names.join(', ')}: let your app connect as a ` +
      `role with another name, and run ${statements.join(' ')}`,
  );
}
