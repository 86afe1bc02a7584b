// Brings the schema of a database up to date, and checks the application's tables.

import { InstepError } from '../runtime/errors.ts';
import type { Database } from './database.ts';
import type { FeatureSchema } from './feature-schema.ts';
import { migrate } from './migrate.ts';
import { ENGINE_MIGRATIONS } from './migrations.ts';
import { checkOwnSchema } from './own-schema.ts';
import type { WantedTables } from './tables/application-tables.ts';
import { findHiddenRows } from './tables/privileges.ts';
import {
  applicationTablesOf,
  type Recognition,
  recognizeTables,
} from './tables/recognize-tables.ts';
import { keptPlanName, writtenText } from './tables/recognized-tables.ts';

type PrepareOptions = {
  readonly tables: WantedTables;
  /** Whether to create `users` and `teams` if neither exists. */
  readonly createsTables: boolean;
  /** Policies that can hide rows are only a warning, because they can depend on anything. */
  readonly onWarning: (message: string) => void;
  /** Is told what Instep writes to which of the app's tables. */
  readonly onRecognized: (text: string) => void;
  readonly features: readonly FeatureSchema[];
};

/** Brings the schema up to date. If the application's tables don't fit, nothing changes. */
export async function prepareSchema(
  database: Database,
  { tables, createsTables, onWarning, onRecognized, features }: PrepareOptions,
): Promise<string[]> {
  const { users, teams, profile } = tables;
  // The application itself creates declared tables.
  const canCreate = createsTables && users === undefined && teams === undefined;
  let recognition: Recognition | undefined;
  const ran = await migrate(database, {
    migrations: [ENGINE_MIGRATIONS, ...features.map(({ migrations }) => migrations)].flat(),
    createsTables: canCreate && profile === 'off' ? 'teams' : canCreate,
    async verify(query) {
      await checkOwnSchema(query, features);
      recognition = await recognizeTables(query, tables);
      applicationTablesOf(recognition);
      const kept = recognition.teams && keptPlanName(recognition.teams);
      if (kept) onWarning(`${kept.text}: as the owner, run ${kept.statement}`);
      for (const { text, policy, bypass } of await findHiddenRows(query, recognition)) {
        onWarning(`${text}: as the owner, run ${policy} or ${bypass}`);
      }
    },
  });
  if (recognition?.teams) onRecognized(writtenText(recognition.teams));
  for (const { makeViews, views = [] } of features) {
    try {
      if (recognition !== undefined) await makeViews?.(database, recognition);
    } catch (error) {
      // The endpoints work without it.
      if (!(error instanceof InstepError)) throw error;
      onWarning(
        `the view instep.${views.join(', instep.')} is missing or outdated (${error.message}): run \`instep migrate\` as the owner of the schema instep`,
      );
    }
  }
  return ran;
}
