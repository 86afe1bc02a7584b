import type { Command } from 'commander';
import {
  readApiConfig,
  readDatabaseConfig,
  readLinkByMetadata,
  readPlanSelection,
} from '../config/config.ts';
import { createContext, type OperateContext, type Operator } from '../operate/context.ts';
import {
  connectToServer,
  type DatabaseServer,
  type PrepareOptions,
  prepareDatabase,
} from '../postgres/connect.ts';
import type { Database } from '../postgres/database.ts';
import { checkSchema } from '../postgres/migrate.ts';
import type { DeclaredTables } from '../postgres/tables/application-tables.ts';
import { createLogger } from '../runtime/logging.ts';
import { printMessage } from './output.ts';

const STATEMENT_TIMEOUT_MS = 10_000;

const onConnectionError = (error: Error) =>
  printMessage(`database connection lost: ${error.message}`);

type Server = {
  server: DatabaseServer;
  /** Migrates the database. Returns the migrations that it ran. */
  prepare: (options?: Omit<PrepareOptions, 'onConnectionError'>) => Promise<string[]>;
};

/** Runs work on the configured database server, and releases the server afterward. */
export async function withServer<Result>(
  work: (server: Server) => Promise<Result>,
): Promise<Result> {
  const server = await connectToServer({
    ...readDatabaseConfig(process.env),
    notice: printMessage,
  });
  try {
    return await work({
      server,
      prepare: (options) => prepareDatabase(server, { onConnectionError, ...options }),
    });
  } finally {
    await server.release();
  }
}

/** Runs work on a server's database, whether it is migrated or not. An embedded one is migrated first. */
export async function withDatabaseOf<Result>(
  { server, prepare }: Server,
  work: (database: Database) => Promise<Result>,
  maxConnections = 1,
): Promise<Result> {
  if (server.isEmbedded) await prepare();
  const statementTimeoutMs = STATEMENT_TIMEOUT_MS;
  const database = server.open({ maxConnections, statementTimeoutMs, onConnectionError });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The same for the configured database, with the names that are declared for the application's tables. */
export function withAnyDatabase<Result>(
  work: (database: Database, declared: DeclaredTables) => Promise<Result>,
  maxConnections = 1,
): Promise<Result> {
  return withServer((found) =>
    withDatabaseOf(found, (database) => work(database, found.server.tables), maxConnections),
  );
}

/**
 * Runs work on the migrated database, with or without a running server. Only an embedded database is
 * migrated first; any other one by `instep migrate` or by the server.
 */
export function withDatabase<Result>(
  work: (database: Database) => Promise<Result>,
  maxConnections = 1,
): Promise<Result> {
  return withAnyDatabase(async (database) => {
    await checkSchema(database.query);
    return await work(database);
  }, maxConnections);
}

/** What `--reason` of this process's command says. */
let reason: string | undefined;

/** A command that acts as an operator: the audit keeps why. */
export function askReason(command: Command): Command {
  return command.option('--reason <text>', 'why, for the audit').hook('preAction', (_, acting) => {
    reason = acting.opts<{ reason?: string }>().reason;
  });
}

const MAX_CONNECTIONS = 4;
const MAX_QUEUED = 100_000;

type Work<Result> = (context: OperateContext, operator: Operator) => Promise<Result>;

/** The same as `withContext` for functions that ask Stripe, with STRIPE_SECRET_KEY. */
export async function withStripe<Result>(work: Work<Result>): Promise<Result> {
  return await withContext(work, readApiConfig(process.env));
}

/** The same for functions that can also ask Stripe, if STRIPE_SECRET_KEY is set. */
export async function withOptionalStripe<Result>(work: Work<Result>): Promise<Result> {
  return await (process.env.STRIPE_SECRET_KEY ? withStripe(work) : withContext(work));
}

/** Runs functions of `instep/operate` on the migrated database, for the account of the operating system. */
export async function withContext<Result>(
  work: Work<Result>,
  stripeApi: ReturnType<typeof readApiConfig> | null = null,
): Promise<Result> {
  return await withDatabase(async (database) => {
    const context = createContext({
      ...{ database, stripeApi },
      planSelection: readPlanSelection(process.env),
      linkByMetadata: readLinkByMetadata(process.env),
      maxQueued: MAX_QUEUED,
      logger: createLogger('warn', { write: (line) => void process.stderr.write(line) }),
      now: Date.now,
      close: async () => undefined,
    });
    const name = `uid:${process.getuid?.() ?? 'unknown'}`;
    return await work(context, { name, how: 'command', ...(reason !== undefined && { reason }) });
  }, MAX_CONNECTIONS);
}
