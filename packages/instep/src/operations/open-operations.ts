import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import type { Exposition } from '../metrics/series.ts';
import {
  type ConsoleHandler,
  importConsole,
  type TokenVerdict,
} from '../operate/console-package.ts';
import { createContext, type OperateContext } from '../operate/context.ts';
import type { DatabaseServer } from '../postgres/connect.ts';
import type { Database } from '../postgres/database.ts';
import { type Logger, limitLines } from '../runtime/logging.ts';
import { isSameSecret } from '../server/http-message.ts';
import { createNodeListener } from '../server/node-listener.ts';
import { listenForOperators, MAX_OPERATORS_CONNECTIONS } from './listen-for-operators.ts';
import { createSyncApi } from './sync-api.ts';

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
  config: Pick<Config, 'operations' | 'stripeApi' | 'planSelection' | 'maxQueuedEvents'> &
    Partial<Pick<Config, 'linkByMetadata'>>;
  logger: Logger;
  now: () => number;
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
  const clockMs = () => performance.now();
  const wait = (delayMs: number) => sleep(delayMs);
  const checkToken = token === null ? null : createTokenCheck({ token, logger, clockMs, wait });
  const login = token === null || checkToken === null ? null : { secret: token, checkToken };
  let database: Database | undefined;
  let pages: ConsoleHandler | undefined;
  let prepared = Promise.resolve();
  const listener = await listenForOperators({ host, port, logger, checkToken });

  function openContextOn(server: DatabaseServer): OperateContext {
    database = server.open({
      maxConnections: MAX_CONNECTIONS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onConnectionError: (err) => logger.warn({ err }, 'database connection lost'),
    });
    return createContext({
      database,
      stripeApi: config.stripeApi,
      planSelection: config.planSelection,
      linkByMetadata: config.linkByMetadata ?? null,
      maxQueued: config.maxQueuedEvents,
      logger,
      now,
      close: async () => undefined,
    });
  }

  return {
    url: listener.url,
    async show(server, metrics) {
      const console = await importConsole();
      const context = openContextOn(server);
      const operateContext = async () => context;
      pages = console?.createConsoleWithLogin({ instep: { operateContext }, login });
      const shown = pages === undefined ? null : console?.toNodeListener(pages);
      const onFailure = (failure: object) => logger.error(failure, 'operations request failed');
      const syncApi = createNodeListener(createSyncApi(context), onFailure);
      listener.show({ metrics, pages: shown ?? null, syncApi });
      logger.info({ url: listener.url }, 'operations listening');
      if (pages !== undefined) prepared = preparePages(pages, token);
    },
    async close(deadlineMs) {
      await listener.close(deadlineMs);
      await prepared;
      await pages?.close();
      await database?.close();
    },
  };
}

/**
 * Requests the overview, so that the code of a page is compiled and the connections are open before an operator
 * requests one. Otherwise the first page takes twice as long as later ones.
 */
async function preparePages(
  pages: (request: Request) => Promise<Response>,
  token: string | null,
): Promise<void> {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const response = await pages(new Request('http://localhost/', { headers }));
  await response.text();
}

type TokenCheckOptions = {
  token: string;
  logger: Logger;
  clockMs: () => number;
  wait: (delayMs: number) => Promise<void>;
};

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;
const FORGOTTEN_AFTER_MS = 60_000;
const MAX_WAITING = 20;

/**
 * Checks a token. Each wrong one waits twice as long as the one before, no matter who sends it. The right one
 * never waits, so the attempts of others can't lock an operator out. While 20 wrong ones wait, others are `too many`,
 * which bounds the memory.
 */
export function createTokenCheck({ token, clockMs, wait, logger }: TokenCheckOptions) {
  let failures = 0;
  let failedAtMs = 0;
  let waiting = 0;
  const write = limitLines((members) => logger.warn(members, 'wrong operations token'));

  return async (text: string): Promise<TokenVerdict> => {
    if (isSameSecret(text, token)) return 'right';
    if (clockMs() - failedAtMs > FORGOTTEN_AFTER_MS) failures = 0;
    failedAtMs = clockMs();
    failures += 1;
    write({ failures });
    if (waiting >= MAX_WAITING) return 'too many';
    waiting += 1;
    await wait(Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS));
    waiting -= 1;
    return 'wrong';
  };
}
