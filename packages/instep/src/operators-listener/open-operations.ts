// The operators' listener with the console and the calls for apps, for `serve`, `console` and the demo.

import type { RequestListener } from 'node:http';
import type { Logger } from 'instep-engine/runtime';
import type { ConsoleHandler, ConsoleLogin, OperateContext, Operated } from 'instep-operate';
import { createTokenCheck, listenForOperators } from 'instep-operate/listener';
import type { Exposition } from 'instep-operate/metrics';
import type { OperationsConfig } from '../config/config.ts';
import { importOptional } from '../runtime/packages.ts';
import { answerCall } from './sync-api.ts';

/** The operators' listener, in a process that serves the public or supervises those that do. */
export type Operations = {
  readonly url: string;
  /** Shows the pages of this context, which it closes in the end, and these metrics, if any. Until then it answers 503. */
  show(context: OperateContext, metrics: Exposition | null): Promise<void>;
  /** Answers pending requests for up to a second, and disconnects from the database. */
  close(): Promise<void>;
};

/** How long pending pages can take when everything else has ended. */
const DEADLINE_MS = 1_000;

/**
 * Takes the operators' port before the public one, so that a wrong port prevents the start. `show`
 * loads the pages later: the public port does not wait for them. `null` when `OPS_PORT` is off.
 *
 * @throws ListenFailed
 */
export async function openOperations(
  config: OperationsConfig | null,
  logger: Logger,
): Promise<Operations | null> {
  if (config === null) return null;
  const { host, port, tokens } = config;
  const checkToken = tokens.length === 0 ? null : createTokenCheck(tokens, logger);
  const login = checkToken === null ? null : { tokens, checkToken };
  let shown: OperateContext | undefined;
  let pages: ConsoleHandler | undefined;
  const listener = await listenForOperators({ host, port, logger, checkToken });

  return {
    url: listener.url,
    async show(context, metrics) {
      shown = context;
      const console = await importConsole();
      const operateContext = async () => ({ ...context, close: async () => undefined });
      pages = console?.createConsoleWithLogin({ instep: { operateContext }, login });
      listener.show({
        metrics,
        pages: pages === undefined ? null : (console?.toNodeListener(pages) ?? null),
        answerCall: (request, { name }) =>
          answerCall(request, context, { name, how: 'application' }),
      });
      logger.info({ url: listener.url }, 'operations listening');
    },
    async close() {
      await listener.close(DEADLINE_MS);
      await pages?.close();
      await shown?.close();
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
const importConsole = () => importOptional<ConsolePackage>('instep-console');
