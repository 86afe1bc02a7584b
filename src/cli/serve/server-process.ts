import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { type InstepOptions, openService, type Service } from '../../instep.ts';
import { offerSnapshots } from '../../operations/metrics/worker-snapshots.ts';
import {
  OPERATIONS_DEADLINE_MS,
  OPERATIONS_FILES,
  openOperations,
} from '../../operations/open-operations.ts';
import { DatabaseUnavailable } from '../../postgres/errors.ts';
import type { Logger } from '../../runtime/logging.ts';
import { retry } from '../../runtime/retry.ts';
import { listen } from '../../server/server.ts';

export type ServerProcessOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /** Resolves with the reason when the server must end. */
  readonly ending: Promise<string>;
  readonly onListening: (url: string) => void;
  readonly onEnding: (reason: string) => void;
};

const START_DEADLINE_MS = 30_000;
const RETRY_AFTER_MS = 1_000;

/** Serves in this process until `ending` resolves, and then stops cleanly. */
export async function runServer(options: ServerProcessOptions): Promise<void> {
  const { config, logger, ending, onListening, onEnding } = options;
  const instep = await Promise.race([openWithRetries({ config, logger }), ending]);
  if (typeof instep === 'string') {
    logger.info({ signal: instep }, 'stopped before it listened');
    // Nothing was accepted, and the start can take long to fail.
    process.exit(0);
  }
  offerSnapshots(instep.metrics.snapshot);
  const closers = [() => instep.close()];
  try {
    const operations = await openOperations({ config, logger, now: Date.now });
    if (operations !== null) closers.push(() => operations.close(OPERATIONS_DEADLINE_MS));
    const filesNeededElsewhere = operations === null ? 0 : OPERATIONS_FILES;
    const { host, port } = config;
    const { handle } = instep;
    const server = await listen({ host, port, handle, logger, filesNeededElsewhere });
    closers.push(() => server.close(config.shutdownDeadlineMs));
    onListening(server.url);
    await operations?.show(instep.databaseServer, instep.metrics);

    onEnding(await ending);
    instep.stopBeingReady();
    // Load balancers still send requests until they have asked for readiness.
    await sleep(config.shutdownDelayMs);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** A database that starts at the same time as this process may need a moment longer. */
async function openWithRetries(options: InstepOptions & { logger: Logger }): Promise<Service> {
  const giveUpAtMs = performance.now() + START_DEADLINE_MS;
  return await retry(() => openService(options), {
    isRetryable: (error) => error instanceof DatabaseUnavailable && performance.now() < giveUpAtMs,
    firstPauseMs: RETRY_AFTER_MS,
    longestPauseMs: RETRY_AFTER_MS,
    onRetry: (err) => options.logger.warn({ err }, 'waiting for the database'),
  });
}
