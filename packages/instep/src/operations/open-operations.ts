import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Hono } from 'hono';
import type { Config } from '../config/config.ts';
import { IngestPipeline } from '../ingest/pipeline.ts';
import type { Exposition } from '../metrics/series.ts';
import type { DatabaseServer } from '../postgres/connect.ts';
import type { Database } from '../postgres/database.ts';
import { Background } from '../runtime/background.ts';
import type { Logger } from '../runtime/logging.ts';
import { createStripeApi } from '../stripe/api.ts';
import { keyKindOf } from '../stripe/key-kind.ts';
import type { ConsoleEnv } from './console/request-context.ts';
import { listenForOperators, MAX_OPERATORS_CONNECTIONS } from './listen-for-operators.ts';

/** The operators' listener, in a process that serves the public or supervises those that do. */
export type Operations = {
  readonly url: string;
  /** Shows the pages of this database. Until then every request gets a 503. */
  show(server: DatabaseServer, metrics: Exposition): Promise<void>;
  /** Answers pending requests, within `deadlineMs`, and disconnects from the database. */
  close(deadlineMs: number): Promise<void>;
};

type OperationsOptions = {
  /** Neither the signing secrets nor the session secrets. */
  readonly config: Pick<Config, 'operations' | 'stripeApi' | 'planSelection' | 'maxQueuedEvents'>;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

/** Connections of their own, so that a slow page does not delay events. */
const MAX_CONNECTIONS = 3;
const STATEMENT_TIMEOUT_MS = 5_000;

/** How long pending pages can take when everything else has ended. */
export const OPERATIONS_DEADLINE_MS = 1_000;

/** How many files, sockets included, the listener can have open. */
export const OPERATIONS_FILES = MAX_OPERATORS_CONNECTIONS + MAX_CONNECTIONS;

/**
 * Takes the operators' port before the public one, so that a wrong port prevents the start. `show`
 * loads the pages later: the public port does not wait for them. `null` when `OPS_PORT` is off.
 *
 * @throws ListenFailed
 */
export async function openOperations(options: OperationsOptions): Promise<Operations | null> {
  const { config, logger, now } = options;
  if (config.operations === null) return null;
  const { host, port, token } = config.operations;
  let database: Database | undefined;
  const background = new Background();
  const listener = await listenForOperators({ host, port, logger });
  return {
    url: listener.url,
    async show(server, metrics) {
      const { createConsole } = await import('./console/console.tsx');
      database = server.open({
        maxConnections: MAX_CONNECTIONS,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        onConnectionError: (err) => logger.warn({ err }, 'database connection lost'),
      });
      const api = createStripeApi(config.stripeApi);
      const { planSelection, maxQueuedEvents: maxQueued } = config;
      const pipeline = { database, api, logger, planSelection, maxQueued };
      const { ingest, nameOf } = new IngestPipeline(pipeline);
      const pages = createConsole({
        database,
        api,
        ingest,
        nameOf,
        planSelection,
        keyMode: keyKindOf(config.stripeApi.secretKey).mode,
        logger,
        now,
        clockMs: () => performance.now(),
        nonce: randomUUID,
        wait: (delayMs) => sleep(delayMs),
        token,
        metrics,
        background,
      });
      await listener.show(pages.fetch);
      logger.info({ url: listener.url }, 'operations listening');
      background.start(() => preparePages(pages, token));
    },
    async close(deadlineMs) {
      await listener.close(deadlineMs);
      await background.stop();
      await database?.close();
    },
  };
}

/**
 * Requests the overview, so that the code of a page is compiled and the connections are open before an operator
 * requests one. Otherwise the first page takes twice as long as later ones.
 */
async function preparePages(pages: Hono<ConsoleEnv>, token: string | null): Promise<void> {
  const headers = token === null ? { Host: 'localhost' } : { Authorization: `Bearer ${token}` };
  await pages.request('/', { headers });
}
