import type { Command } from 'commander';
import { type readApiConfig, readDatabaseConfig } from '../config/config.ts';
import type { ActionResult } from '../operate/audit.ts';
import {
  type OperateContext,
  type Operator,
  openContextOn,
  readContextSettings,
} from '../operate/context.ts';
import { performOne, type ResultOf, type Task } from '../operate/perform.ts';
import {
  connectToServer,
  type DatabaseServer,
  type PrepareOptions,
  prepareDatabase,
} from '../postgres/connect.ts';
import type { Database } from '../postgres/database.ts';
import { createLogger } from '../runtime/logging.ts';
import { printMessage } from './output.ts';

const STATEMENT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 4;

const onConnectionError = (error: Error) =>
  printMessage(`database connection lost: ${error.message}`);

/** Runs work on the configured database server, and releases the server afterward. */
export async function withServer<Result>(
  work: (server: DatabaseServer) => Promise<Result>,
): Promise<Result> {
  const database = readDatabaseConfig(process.env);
  const server = await connectToServer({ ...database, notice: printMessage });
  try {
    return await work(server);
  } finally {
    await server.release();
  }
}

/** Migrates the server's database. Returns the migrations that it ran. */
export function migrateOn(
  server: DatabaseServer,
  options: Omit<PrepareOptions, 'onConnectionError'> = {},
): Promise<string[]> {
  return prepareDatabase(server, { onConnectionError, ...options });
}

/** Runs work on the configured database, whether it is migrated or not. An embedded one is migrated first. */
export function withDatabase<Result>(
  work: (database: Database, server: DatabaseServer) => Promise<Result>,
): Promise<Result> {
  return withServer(async (server) => {
    if (server.isEmbedded) await migrateOn(server);
    const database = server.open({
      maxConnections: MAX_CONNECTIONS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onConnectionError,
    });
    try {
      return await work(database, server);
    } finally {
      await database.close();
    }
  });
}

/** What `--reason` of this process's command says. */
let reason: string | undefined;

/** A command that acts as an operator: the audit keeps why. */
export function askReason(command: Command): Command {
  return command.option('--reason <text>', 'why, for the audit').hook('preAction', (_, acting) => {
    reason = acting.opts<{ reason?: string }>().reason;
  });
}

type StripeApiConfig = ReturnType<typeof readApiConfig>;

/**
 * Runs functions of `instep/operate` on the migrated database, for the account of the operating system, with or without
 * a running server. For those that ask Stripe, `stripeApi` says how.
 */
export async function withContext<Result>(
  work: (context: OperateContext, operator: Operator) => Promise<Result>,
  stripeApi: StripeApiConfig | null = null,
): Promise<Result> {
  return await withServer(async (server) => {
    const context = await openContextOn(server, {
      ...readContextSettings(process.env),
      stripeApi,
      logger: createLogger('warn', { write: (line) => void process.stderr.write(line) }),
    });
    const name = `uid:${process.getuid?.() ?? 'unknown'}`;
    try {
      return await work(context, { name, how: 'command', ...(reason !== undefined && { reason }) });
    } finally {
      await context.close();
    }
  });
}

/** Performs one task for the account of the operating system. @throws what ended it */
export async function performTask<Code extends ActionResult['code']>(
  task: Task,
  expected: Code,
): Promise<ResultOf<Code>> {
  return await withContext((context, operator) => performOne(context, operator, task, expected));
}
