// What the package create-instep needs of Instep (`instep/setup`): to read the configuration, to look at the database, to
// try an event, and to print like the other commands.

import { randomBytes } from 'node:crypto';
import {
  ConfigInvalid,
  describeDatabase,
  readAuthSecrets,
  readDatabaseConfig,
  readOperationsConfig,
  readPlanSelection,
  readWebhookSecrets,
} from '../config/config.ts';
import { processBatch } from '../ingest/process-batch.ts';
import { readLinkedTeams } from '../postgres/statements/teams.ts';
import { recognizeTables } from '../postgres/tables/recognize-tables.ts';
import { InstepError } from '../runtime/errors.ts';
import { urlOf } from '../server/listener.ts';
import { parseEvent } from '../stripe/parse-event.ts';
import { SignatureVerifier } from '../stripe/signature.ts';
import { createSubscriptionEvent, signedRequest } from '../testing/stripe-objects.ts';
import { doctor } from './doctor.ts';
import { paint, print, printMessage } from './output.ts';
import { tables } from './schema.ts';
import { withContext } from './with-context.ts';
import { migrateOn, withDatabase, withServer } from './with-database.ts';

export { VERSION } from '../runtime/packages.ts';
export { USER_PATH } from '../server/http-message.ts';
export { WEBHOOK_PATH } from '../server/webhook.ts';
export { HANDLED_TYPES } from '../stripe/parse-event.ts';
export type { InitOptions } from './init.ts';
export { paint, print, printable, printData } from './output.ts';

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
  readAuthSecrets(environment);
  const operations = readOperationsConfig(environment);
  return {
    database: `${describeDatabase(readDatabaseConfig(environment))} (${name})`,
    consoleUrl: operations && urlOf(operations.host, operations.port),
  };
}

/** The app's tables as they are written in SQL; `null`: the database has neither. @throws ApplicationTablesUnfit */
export async function findTables(): Promise<{ users: string; teams: string } | null> {
  const { users, teams, unfit } = await withDatabase(({ query }, server) =>
    recognizeTables(query, server.tables),
  );
  if (users === null && teams === null) return null;
  if (unfit !== null) throw unfit;
  return { users: `${users?.table.sql}`, teams: `${teams?.table.sql}` };
}

/**
 * Migrates the database and shows that Instep works there: the tables, the doctor's checks, and a signed event. What is
 * still wrong is printed, for the user to correct, and is no error.
 */
export async function checkInstallation(): Promise<void> {
  await withServer((server) => migrateOn(server));
  const parts = [
    ['npx instep tables', () => tables({})],
    ['npx instep doctor', () => doctor({})],
    ['A signed event, in a transaction that is rolled back', async () => print(await tryEvent())],
  ] as const;
  for (const [title, show] of parts) {
    print(`\n${paint('bold', title)}\n`);
    await show().catch((error) => {
      if (!(error instanceof InstepError)) throw error;
      printMessage(error.message);
    });
  }
}

/**
 * Verifies and applies a signed event for one of the app's customers, or for one without a team, and rolls everything
 * back. Returns the outcome for the user.
 *
 * @throws the errors of an event
 */
async function tryEvent(): Promise<string> {
  const secrets = readWebhookSecrets(process.env);
  const planSelection = readPlanSelection(process.env);
  const receivedAtMs = Date.now();
  return await withContext(async ({ database }) => {
    const [team] = (await readLinkedTeams(database.query, { afterId: null })).found;
    const customerId = team?.customerId ?? 'cus_instep_init';
    const eventId = `evt_${randomBytes(12).toString('hex')}`;
    const createdSeconds = Math.floor(receivedAtMs / 1_000);
    const event = createSubscriptionEvent({ customerId, eventId, createdSeconds });
    const { body, headers } = signedRequest(event, secrets[0]);
    const verifier = new SignatureVerifier(secrets);
    const signature = verifier.parse(headers['stripe-signature']);
    const text = verifier.verify(Buffer.from(body), signature, receivedAtMs);
    const parsed = parseEvent(text, { receivedAtMs, nonce: () => eventId });
    if (parsed.kind !== 'readable') throw new RangeError('an event of ours is readable');
    const received = { ...parsed, body: Buffer.from(body), receivedAtMs };
    const events = [{ ...received, source: 'delivery' as const }];
    const [result = 'locked'] = await database.transaction(async (query, atCommit) => {
      await query('savepoint before_event');
      const options = { planSelection, namesWritten: 'everywhere' as const };
      const { results } = await processBatch({ query, atCommit }, events, options);
      // In its place in the pipeline, after all statements of the event. If one has failed, the commit throws.
      await query('rollback to savepoint before_event');
      return results;
    });
    if (result === 'locked')
      return `skipped: another transaction has locked the team of ${customerId}`;
    if (team === undefined) return `${result.outcome}: no team has a customer yet`;
    return `${result.outcome}, for ${customerId} of team ${result.teamIds}`;
  });
}
