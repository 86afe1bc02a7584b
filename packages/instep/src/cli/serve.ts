// The commands that run a server: Instep itself, or only the console.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Handler, handleWhileStarting, listen, type RunningServer } from 'instep-engine/http';
import { CHECK_CONNECTION, DatabaseUnavailable } from 'instep-engine/postgres';
import { createLogger, type Logger, retry } from 'instep-engine/runtime';
import { examineSilently } from '../adapters/handler.ts';
import { type Config, ConfigInvalid, readConfig, readPart } from '../config/config.ts';
import { type InstepOptions, logSettings, openService, type Service } from '../instep.ts';
import { openContextIn } from '../operate/open-context.ts';
import { type Operations, openOperations } from '../operators-listener/open-operations.ts';
import { createCommand } from './arguments.ts';
import { nextSignal, printMessage } from './output.ts';

const START_DEADLINE_MS = 30_000;
const RETRY_AFTER_MS = 1_000;

export function serveCommand(): Command {
  return createCommand('serve', 'run the server', 'PORT=8080 instep serve').action(serve);
}

async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel);
  exitOnDefect(logger);
  logSettings({ config, logger });
  // Handled from the start: an unhandled signal does not end the first process of a container.
  await serveUntil(nextSignal(), config, logger);
  logger.info('stopped');
  // Node would wait for a log's reader that stalls. Otherwise the process ends by itself, when a tracing SDK has sent the
  // last spans.
  setTimeout(() => process.exit(0), EXIT_DEADLINE_MS).unref();
}

/** Loading the console and the metrics keeps the process busy for a moment. The requests that waited for the start come first. */
const CONSOLE_DELAY_MS = 100;

const EXIT_DEADLINE_MS = 1_000;

/**
 * After an uncaught error the process can't be trusted: it ends at once, and its supervisor starts
 * another. As with kill -9, nothing is lost.
 */
function exitOnDefect(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'unexpected error');
    process.exit(1);
  });
}

/**
 * Serves until `ending` resolves with a signal, and then stops cleanly. The ports come first: a start
 * that fails because one is taken must not have migrated the database of other instances.
 */
async function serveUntil(ending: Promise<string>, config: Config, logger: Logger): Promise<void> {
  let handle: Handler = handleWhileStarting;
  let operations: Operations | null = null;
  let server: RunningServer | undefined;
  let instep: Service | undefined;
  try {
    operations = await openOperations(config.operations, logger);
    server = await listen({
      host: config.host,
      port: config.port,
      handle: (request) => handle(request),
      logger,
    });
    const opened = await Promise.race([openWithRetries({ config, logger }), ending]);
    if (typeof opened === 'string') {
      logger.info({ signal: opened }, 'stopped before it was ready');
      // No event was accepted, and the start can take a long time to fail.
      process.exit(0);
    }
    instep = opened;
    handle = instep.handle;
    logger.info({ url: server.url }, 'listening');
    await sleep(CONSOLE_DELAY_MS);
    if (operations !== null) {
      const examine = () => examineSilently(process.env, logger);
      await operations.show({ ...instep.openContext(), examine }, await instep.startMetrics());
    }

    logger.info({ signal: await ending }, 'shutting down');
    instep.stopBeingReady();
    // Load balancers still send requests until their next readiness check.
    await sleep(config.shutdownDelayMs);
  } finally {
    await server?.close(config.shutdownDeadlineMs);
    await operations?.close();
    await instep?.close();
  }
}

/** A database that starts together with this process can need a moment longer. */
async function openWithRetries(options: InstepOptions & { logger: Logger }): Promise<Service> {
  const giveUpAtMs = performance.now() + START_DEADLINE_MS;
  let isFirst = true;
  return await retry(() => openService(options), {
    isRetryable: (error) => error instanceof DatabaseUnavailable && performance.now() < giveUpAtMs,
    firstPauseMs: RETRY_AFTER_MS,
    longestPauseMs: RETRY_AFTER_MS,
    onRetry(err) {
      const members = { err, advice: CHECK_CONNECTION };
      if (isFirst) options.logger.warn(members, 'waiting for the database');
      isFirst = false;
    },
  });
}

export function consoleCommand(): Command {
  return createCommand(
    'console',
    'run only the console, for an app with Instep inside',
    'OPS_PORT=3001 instep console',
  ).action(runConsole);
}

async function runConsole(): Promise<void> {
  const ending = nextSignal();
  const config = readPart('operations', process.env);
  if (config === null) {
    const problem = 'is off, so the console has no address';
    throw new ConfigInvalid([{ variable: 'OPS_PORT', problem, remedy: 'set a port' }]);
  }
  const stripeApi = readPart('stripeApi', process.env);
  const logger = createLogger('info');
  const operations = await openOperations(config, logger);
  try {
    const context = await openContextIn(process.env, { stripeApi, logger, notice: printMessage });
    const examine = () => examineSilently(process.env, logger);
    await operations?.show({ ...context, examine }, null);
    await ending;
  } finally {
    await operations?.close();
  }
}
