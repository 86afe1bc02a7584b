// Connects commands to the configured database. Those that act or search use `with-context.ts`.

import type { Database, DatabaseServer, PrepareOptions } from 'instep-engine/postgres';
import { ConfigInvalid, readPart } from '../config/config.ts';
import {
  connectToServer,
  hasDatabase,
  openDatabase,
  prepareDatabase,
} from '../database/connect.ts';
import { printMessage } from './output.ts';

const MESSAGES = {
  notice: printMessage,
  onConnectionError: (error: Error) => printMessage(`database connection lost: ${error.message}`),
};

type OpenOptions = Partial<Parameters<typeof openDatabase>[1]>;

/** Runs work on the configured database, whether it is migrated or not. */
export async function withDatabase<Result>(
  work: (database: Database, server: DatabaseServer) => Promise<Result>,
  options: OpenOptions = {},
): Promise<Result> {
  const opening = openDatabase(readPart('database', process.env), { ...MESSAGES, ...options });
  const { database, server, close } = await opening;
  try {
    return await work(database, server);
  } finally {
    await close();
  }
}

/** Migrates the configured database. Returns the migrations that it ran. */
export async function migrate(options: Partial<PrepareOptions> = {}): Promise<string[]> {
  const server = await connectToServer({ ...readPart('database', process.env), ...MESSAGES });
  try {
    return await prepareDatabase(server, { ...MESSAGES, ...options });
  } finally {
    await server.release();
  }
}

/** @throws ConfigInvalid if there is no database: a command that only reads creates none */
export async function requireDatabase(): Promise<void> {
  const config = readPart('database', process.env);
  if (await hasDatabase(config)) return;
  const problem = `is missing, and there is no database in ${config.dataFolder}`;
  const remedy = "set it to the URL of your app's PostgreSQL";
  throw new ConfigInvalid([{ variable: 'DATABASE_URL', problem, remedy }]);
}
