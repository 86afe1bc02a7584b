import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { configWarnings, readConfig } from '../config.ts';
import { DatabaseUnavailable } from '../database/errors.ts';
import { listen } from '../http/server.ts';
import { type Instep, type InstepOptions, openInstep } from '../instep.ts';
import { createLogger, type Logger, prettyLines } from '../logging.ts';
import { nextSignal } from './signals.ts';

const START_DEADLINE_MS = 30_000;
const RETRY_AFTER_MS = 1_000;

export function serveCommand(): Command {
  return new Command('serve')
    .description('run the server (what `npm start` does)')
    .addHelpText('after', '\nExample:\n  PORT=8080 instep serve')
    .action(serve);
}

async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const pretty = process.stdout.isTTY
    ? prettyLines((text) => process.stdout.write(text))
    : undefined;
  const logger = createLogger(config.logLevel, pretty);
  endAtDefects(logger);
  for (const warning of configWarnings(config)) logger.warn(warning);

  // Heard from the start: a container's first process is not ended by a signal it does not hear.
  const signalled = nextSignal();
  const instep = await Promise.race([openPatiently({ config, logger }), signalled]);
  if (typeof instep === 'string') {
    logger.info({ signal: instep }, 'stopped before it listened');
    // Nothing was accepted, and whatever we wait for may keep us waiting.
    process.exit(0);
  }
  const listening = listen({ ...config, ...instep, logger, now: Date.now });
  const server = await listening.catch(async (error) => {
    await instep.close();
    throw error;
  });
  logger.info({ url: server.url }, 'listening');

  const signal = await signalled;
  logger.info({ signal }, 'shutting down');
  instep.stopBeingReady();
  // Until balancers have asked, they go on sending: what comes is answered as ever.
  await sleep(config.shutdownDelayMs);
  await server.close(config.shutdownDeadlineMs);
  await instep.close();
  logger.info('stopped');
}

/**
 * Whatever nobody has caught is a defect, after which nothing of the process is to be trusted: it
 * ends at once, and whoever watches it starts another. As with kill -9, nothing is lost by it.
 */
function endAtDefects(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'unexpected error');
    process.exit(1);
  });
}

/** A database that starts at the same time as we do may need a moment longer. */
async function openPatiently(options: InstepOptions & { logger: Logger }): Promise<Instep> {
  const giveUpAtMs = Date.now() + START_DEADLINE_MS;
  for (;;) {
    try {
      return await openInstep(options);
    } catch (error) {
      const isWorthWaiting = error instanceof DatabaseUnavailable && Date.now() < giveUpAtMs;
      if (!isWorthWaiting) throw error;
      options.logger.warn({ err: error }, 'waiting for the database');
      await sleep(RETRY_AFTER_MS);
    }
  }
}
