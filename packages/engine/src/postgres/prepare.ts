// Brings the schema of a database up to date, and checks the application's tables.

import { InstepError } from '../runtime/errors.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { checkOwnSchema } from './own-schema.ts';
import type { WantedTables } from './tables/application-tables.ts';
import { findHiddenRows } from './tables/privileges.ts';
import {
  applicationTablesOf,
  type Recognition,
  recognizeTables,
} from './tables/recognize-tables.ts';
import { keptPlanName } from './tables/recognized-tables.ts';

export type PrepareOptions = {
  readonly tables: WantedTables;
  /** Whether to create `users` and `teams` if neither exists. */
  readonly createsTables: boolean;
  /** Policies that can hide rows are only a warning, because they can depend on anything. */
  readonly onWarning: (message: string) => void;
  /** Makes what depends on the application's tables. Its error is a warning, because the endpoints work without it. */
  readonly makeViews: (database: Database, recognition: Recognition) => Promise<void>;
};

/** Brings the schema up to date. If the application's tables don't fit, nothing changes. */
export async function prepareSchema(
  database: Database,
  { tables, createsTables, onWarning, makeViews }: PrepareOptions,
): Promise<string[]> {
  const { users, teams, profile } = tables;
  // The application itself creates declared tables.
  const canCreate = createsTables && users === undefined && teams === undefined;
  let recognition: Recognition | undefined;
  const ran = await migrate(database, {
    createsTables: canCreate && profile === 'off' ? 'teams' : canCreate,
    async verify(query) {
      await checkOwnSchema(query);
      recognition = await recognizeTables(query, tables);
      applicationTablesOf(recognition);
      const kept = recognition.teams && keptPlanName(recognition.teams);
      if (kept) onWarning(`${kept.text}: as the owner, run ${kept.statement}`);
      for (const { text, policy, bypass } of await findHiddenRows(query, recognition)) {
        onWarning(`${text}: as the owner, run ${policy} or ${bypass}`);
      }
    },
  });
  try {
    if (recognition !== undefined) await makeViews(database, recognition);
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    onWarning(
      `the view instep.team_access is missing or outdated (${error.message}): run \`instep migrate\` as the owner of the schema instep`,
    );
  }
  return ran;
}
