import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { openIngestPipeline } from '../ingest/open-pipeline.ts';
import type { DatabaseServer } from '../postgres/connect.ts';
import type { Database } from '../postgres/database.ts';
import { Background } from '../runtime/background.ts';
import type { Logger } from '../runtime/logging.ts';
import { createStripeApi } from '../stripe/api.ts';
import { listenForOperators, MAX_OPERATORS_CONNECTIONS } from './listen-for-operators.ts';
import type { Exposition } from './metrics/exposition.ts';

/** The operators' listener, in a process that serves the public or watches over those that do. */
export type Operations = {
  readonly url: string;
  /** Shows the pages, of this database. Until then whoever asks is told to come again. */
  show(server: DatabaseServer, metrics: Exposition): Promise<void>;
  /** Answers the requests under way, within `deadlineMs`, and leaves the database. */
  close(deadlineMs: number): Promise<void>;
};

export type OperationsOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

/** Connections of their own: a page that is slow keeps no event waiting. */
const MAX_CONNECTIONS = 3;
const STATEMENT_TIMEOUT_MS = 5_000;

/** How long the pages under way may take to end, when all else has ended. */
export const OPERATIONS_DEADLINE_MS = 1_000;

/** So many files, sockets among them, the listener may have open. */
export const OPERATIONS_FILES = MAX_OPERATORS_CONNECTIONS + MAX_CONNECTIONS;

const STARTING = { status: 503, headers: { 'Retry-After': '1' } };

/**
 * Takes the operators' port, before anything is served to anybody, so that a wrong one is no half
 * start. The pages are loaded by `show` only: the public does not wait for them. `null` when
 * `OPS_PORT` is off.
 *
 * @throws ListenFailed
 */
export async function openOperations(options: OperationsOptions): Promise<Operations | null> {
  const { config, logger, now } = options;
  const { operations } = config;
  if (operations === null) return null;
  let answer: (request: Request) => Response | Promise<Response> = () =>
    new Response('Instep starts. Try again.', STARTING);
  let database: Database | undefined;
  const background = new Background();
  const listener = await listenForOperators({
    ...operations,
    fetch: (request) => answer(request),
    logger,
  });
  return {
    url: listener.url,
    async show(server, metrics) {
      const { createConsole } = await import('./console/console.tsx');
      database = server.open({
        maxConnections: MAX_CONNECTIONS,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        onConnectionError: (err) => logger.warn({ err }, 'database connection lost'),
      });
      const api = createStripeApi({
        secretKey: config.stripeSecretKey,
        baseUrl: config.stripeApiBase,
      });
      const { teamPlan: planSelection, maxQueuedEvents: maxQueued } = config;
      const door = openIngestPipeline({ database, api, logger, now, planSelection, maxQueued });
      const { token } = operations;
      const nonce = randomUUID;
      const wait = (delayMs: number) => sleep(delayMs);
      const things = {
        database,
        api,
        planSelection,
        logger,
        now,
        nonce,
        wait,
        token,
        metrics,
        background,
      };
      const { ingest, productNames } = door;
      answer = createConsole({ ...things, ingest, productNames }).fetch;
      logger.info({ url: listener.url }, 'operations listening');
    },
    async close(deadlineMs) {
      await listener.close(deadlineMs);
      await background.stop();
      await database?.close();
    },
  };
}
