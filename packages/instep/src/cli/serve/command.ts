import cluster from 'node:cluster';
import type { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { logSettings } from '../../instep.ts';
import { createLogger, type Logger, prettyLines } from '../../runtime/logging.ts';
import { createCommand } from '../create-command.ts';
import { nextSignal } from '../signals.ts';
import { runServer } from './server-process.ts';
import { nextStopMessage, reportListening, runWorkers } from './workers.ts';

export function serveCommand(): Command {
  return createCommand('serve', 'run the server', 'PORT=8080 instep serve').action(serve);
}

async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const pretty = process.stdout.isTTY
    ? prettyLines((text) => process.stdout.write(text))
    : undefined;
  const { worker } = cluster;
  const common = worker && { worker: worker.id };
  const logger = createLogger(config.logLevel, pretty, { common });
  exitOnDefect(logger);
  if (worker !== undefined) {
    const served = runServer({
      // The supervising process serves the console.
      config: { ...config, operations: null },
      logger,
      isReplacement: worker.id > config.workers,
      ending: nextStopMessage(),
      onListening: reportListening,
      onEnding: () => undefined,
    });
    // The open channel would keep the process alive.
    return await served.finally(() => worker.disconnect());
  }

  logSettings({ config, logger });
  const options = {
    // Handled from the start: an unhandled signal does not end the first process of a container.
    ending: nextSignal(),
    onListening: (url: string) => logger.info({ url }, 'listening'),
    onEnding: (signal: string) => logger.info({ signal }, 'shutting down'),
  };
  const run = config.workers === 1 ? runServer : runWorkers;
  await run({ config, logger, ...options });
  logger.info('stopped');
}

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
