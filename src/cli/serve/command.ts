import cluster from 'node:cluster';
import { Command } from 'commander';
import { configWarnings, readConfig } from '../../config/config.ts';
import { createLogger, type Logger, prettyLines } from '../../runtime/logging.ts';
import { nextSignal } from '../signals.ts';
import { runServer } from './server-process.ts';
import { runWorkers } from './with-workers.ts';
import { nextOrder } from './workers.ts';

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
  const { worker } = cluster;
  const lines = createLogger(config.logLevel, pretty);
  const logger = worker === undefined ? lines : lines.child({ worker: worker.id });
  endAtDefects(logger);
  if (worker !== undefined) {
    const quiet = { onListening: () => undefined, onEnding: () => undefined };
    // Operators have their listener in the process that watches over all workers.
    const served = runServer({
      config: { ...config, operations: null },
      logger,
      ending: nextOrder(),
      ...quiet,
    });
    // As long as it can be given orders it does not end.
    return await served.finally(() => worker.disconnect());
  }

  for (const warning of configWarnings(config)) logger.warn(warning);
  const options = {
    // Heard from the start: a container's first process is not ended by a signal it does not hear.
    ending: nextSignal(),
    onListening: (url: string) => logger.info({ url }, 'listening'),
    onEnding: (signal: string) => logger.info({ signal }, 'shutting down'),
  };
  const run = config.workers === 1 ? runServer : runWorkers;
  await run({ config, logger, ...options });
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
