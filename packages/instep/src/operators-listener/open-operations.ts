// The operators' listener with the console and the calls for apps, for `serve`, `console` and the demo.

import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createNodeListener } from 'instep-engine/http';
import type { DatabaseServer } from 'instep-engine/postgres';
import type { Logger } from 'instep-engine/runtime';
import type { ConsoleHandler, ConsoleLogin, OperateContext, Operated } from 'instep-operate';
import { createTokenCheck, listenForOperators } from 'instep-operate/listener';
import type { Exposition } from 'instep-operate/metrics';
import type { AccessPolicy, Config } from '../config/config.ts';
import { contextOn } from '../operate/open-context.ts';
import { importOptional } from '../runtime/packages.ts';
import { createSyncApi } from './sync-api.ts';

/** The operators' listener, in a process that serves the public or supervises those that do. */
export type Operations = {
  readonly url: string;
  /** Shows the pages of this database, and these metrics, if any. Until then every request gets a 503. */
  show(server: DatabaseServer, metrics: Exposition | null): Promise<void>;
  /** Answers pending requests, within `deadlineMs`, and disconnects from the database. */
  close(deadlineMs: number): Promise<void>;
};

type OperationsOptions = {
  /** Neither the signing secrets nor the session secrets. */
  config: Pick<Config, 'operations' | 'stripeApi' | 'linkByMetadata'> & {
    readonly accessPolicy: Pick<AccessPolicy, 'planSelection' | 'keepsPaused'>;
  };
  logger: Logger;
  now: () => number;
  /** Checks the installation, as `instep doctor` does. */
  examine?: OperateContext['examine'];
};

/** Connections of their own, so that a slow page does not delay events. */
const MAX_CONNECTIONS = 3;
const STATEMENT_TIMEOUT_MS = 5_000;

/** How long pending pages can take when everything else has ended. */
export const OPERATIONS_DEADLINE_MS = 1_000;

/**
 * Takes the operators' port before the public one, so that a wrong port prevents the start. `show`
 * loads the pages later: the public port does not wait for them. `null` when `OPS_PORT` is off.
 *
 * @throws ListenFailed
 */
export async function openOperations(options: OperationsOptions): Promise<Operations | null> {
  const { config, logger, now, examine } = options;
  if (config.operations === null) return null;
  const { host, port, tokens } = config.operations;
  const clockMs = () => performance.now();
  const wait = (delayMs: number) => sleep(delayMs);
  const checkToken =
    tokens.length === 0 ? null : createTokenCheck({ tokens, logger, clockMs, wait });
  const login = checkToken === null ? null : { tokens, checkToken };
  let context: OperateContext | undefined;
  let pages: ConsoleHandler | undefined;
  const listener = await listenForOperators({ host, port, logger, checkToken });

  return {
    url: listener.url,
    async show(server, metrics) {
      const console = await importConsole();
      const opened = contextOn(server, {
        ...{ maxConnections: MAX_CONNECTIONS, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
        stripeApi: config.stripeApi,
        planSelection: config.accessPolicy.planSelection,
        keepsPaused: config.accessPolicy.keepsPaused,
        linkByMetadata: config.linkByMetadata,
        logger,
        now,
        ...(examine && { examine }),
      });
      context = opened;
      const operateContext = async () => ({ ...opened, close: async () => undefined });
      pages = console?.createConsoleWithLogin({ instep: { operateContext }, login });
      const shown = pages === undefined ? null : console?.toNodeListener(pages);
      const onFailure = (failure: object) => logger.error(failure, 'operations request failed');
      // One for all requests of a person, because a listener limits their unfinished bodies together.
      const syncApis = tokens.map(({ name }) => {
        const handle = createSyncApi(opened, { name, how: 'application' });
        return [name, createNodeListener(handle, onFailure)] as const;
      });
      listener.show({ metrics, pages: shown ?? null, syncApis: new Map(syncApis) });
      logger.info({ url: listener.url }, 'operations listening');
    },
    async close(deadlineMs) {
      await listener.close(deadlineMs);
      await pages?.close();
      await context?.close();
    },
  };
}

/** What the package `instep-console` exports for `instep serve`. */
type ConsolePackage = {
  /** Without a login, every request is an operator's. */
  createConsoleWithLogin(options: {
    readonly instep: Operated;
    readonly login: ConsoleLogin | null;
  }): ConsoleHandler;
  /** Serves a handler with `node:http`. */
  toNodeListener(handler: (request: Request) => Promise<Response>): RequestListener;
};

/** The package `instep-console`; `null` when it is not installed. */
async function importConsole(): Promise<ConsolePackage | null> {
  return await importOptional<ConsolePackage>('instep-console');
}
