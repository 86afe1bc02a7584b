// Brings the schema of a database up to date, and checks the application's tables.

import { InstepError } from '../runtime/errors.ts';
import type { Database } from './database.ts';
import type { DatabaseServer } from './database-server.ts';
import { migrate } from './migrate.ts';
import { ENGINE_MIGRATIONS, type Migration } from './migrations.ts';
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
  /** Makes its views, unless they are there: after the migrations, because they depend on the application's tables. */
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
      createsTables: tablesToCreate(server, options),
      async verify(query) {
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
  for (const { name, makeViews } of features) {
    try {
      await makeViews?.(database, recognition);
    } catch (error) {
      if (!(error instanceof InstepError)) throw error;
      onWarning(
        `the views of ${name} are missing or outdated (${error.message}): run \`instep migrate\` as the owner of the schema instep`,
      );
    }
  }
}

/** The application itself creates declared tables. */
function tablesToCreate(
  { tables: { users, teams, profile }, isEmbedded }: DatabaseServer,
  { createsTables = isEmbedded }: PrepareOptions,
): boolean | 'teams' {
  const canCreate = createsTables && users === undefined && teams === undefined;
  return canCreate && profile === 'off' ? 'teams' : canCreate;
}
