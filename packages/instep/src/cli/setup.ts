// What the package create-instep needs of Instep (`instep/setup`): to read the configuration, to look at the database,
// and to print like the other commands.

import { urlOf } from 'instep-engine/http';
import { recognizeTables } from 'instep-engine/postgres';
import { InstepError } from 'instep-engine/runtime';
import { storePolicy } from '../access/team-access.ts';
import { ConfigInvalid, describeDatabase, readPart } from '../config/config.ts';
import { doctor } from './doctor.ts';
import { paint, print, printMessage } from './output.ts';
import { tables } from './schema.ts';
import { migrate, withDatabase } from './with-database.ts';

export { USER_PATH, WEBHOOK_PATH } from 'instep-engine/http';
export { HANDLED_TYPES } from 'instep-engine/stripe';
export { VERSION } from '../runtime/packages.ts';
export type { InitOptions } from './init.ts';
export { paint, print, printable, printableLines, printData } from './output.ts';

/** What the variables of an app say. */
export type Setup = {
  /** The database without its password, and the name of the variable that has its URL. */
  readonly database: string;
  /** Where the console of `instep serve` is; `null`: it is off. */
  readonly consoleUrl: string | null;
};

/** Reads the variables that every app must have. @throws ConfigInvalid */
export function readSetup(environment: NodeJS.ProcessEnv): Setup {
  const name = ['DATABASE_URL', 'POSTGRES_URL'].find((name) => environment[name]);
  if (name === undefined) {
    const remedy = "set it to the URL of your app's PostgreSQL, in the .env of this folder";
    throw new ConfigInvalid([{ variable: 'DATABASE_URL', problem: 'is missing', remedy }]);
  }
  readPart('authSecrets', environment);
  const operations = readPart('operations', environment);
  return {
    database: `${describeDatabase(readPart('database', environment))} (${name})`,
    consoleUrl: operations && urlOf(operations.host, operations.port),
  };
}

/** The app's tables as they are written in SQL. @throws ApplicationTablesUnfit */
export async function findTables(): Promise<readonly string[]> {
  const { users, teams, unfit } = await withDatabase(({ query }, server) =>
    recognizeTables(query, server.tables),
  );
  if (unfit !== null) throw unfit;
  return [users, teams].flatMap((one) => one?.table.sql ?? []);
}

/**
 * Migrates the database and shows that Instep works there: the tables and the doctor's checks. What is still wrong is
 * printed, for the user to correct, and is no error.
 */
export async function checkInstallation(): Promise<void> {
  const policy = readPart('accessPolicy', process.env);
  // Later, a server may be running by another one.
  if ((await migrate()).length > 0) await withDatabase(({ query }) => storePolicy(query, policy));
  const parts = [
    ['npx instep tables', () => tables({})],
    ['npx instep doctor', () => doctor({})],
  ] as const;
  for (const [title, show] of parts) {
    print(`\n${paint('bold', title)}\n`);
    await show().catch((error) => {
      if (!(error instanceof InstepError)) throw error;
      printMessage(error.message);
    });
  }
}
