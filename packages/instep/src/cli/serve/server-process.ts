import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { type InstepOptions, openService, type Service } from '../../instep.ts';
import { offerSnapshots } from '../../operations/metrics/worker-snapshots.ts';
import {
  OPERATIONS_DEADLINE_MS,
  OPERATIONS_FILES,
  type Operations,
  openOperations,
} from '../../operations/open-operations.ts';
import { DatabaseUnavailable } from '../../postgres/errors.ts';
import type { Logger } from '../../runtime/logging.ts';
import { retry } from '../../runtime/retry.ts';
import { handleWhileStarting } from '../../server/health.ts';
import type { Handler } from '../../server/http-message.ts';
import { listen, type RunningServer } from '../../server/listener.ts';

export type ServerProcessOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /** Whether other processes serve the port already. This one joins them when it is ready. */
  readonly isReplacement?: boolean;
  /** Resolves with the reason when the server must end. */
  readonly ending: Promise<string>;
  readonly onListening: (url: string) => void;
  readonly onEnding: (reason: string) => void;
};

const START_DEADLINE_MS = 30_000;
const RETRY_AFTER_MS = 1_000;

/**
 * Serves in this process until `ending` resolves, and then stops cleanly. The ports come first: a
 * start that fails because one is taken must not have migrated the database of other instances.
 */
export async function runServer(options: ServerProcessOptions): Promise<void> {
  const { config, logger, isReplacement = false, ending, onListening, onEnding } = options;
  let handle: Handler = handleWhileStarting;
  let operations: Operations | null = null;
  let server: RunningServer | undefined;
  let instep: Service | undefined;

  function openPort(): Promise<RunningServer> {
    const filesNeededElsewhere = operations === null ? 0 : OPERATIONS_FILES;
    const { host, port } = config;
    return listen({
      host,
      port,
      handle: (request) => handle(request),
      logger,
      filesNeededElsewhere,
    });
  }

  try {
    operations = await openOperations({ config, logger, now: Date.now });
    if (!isReplacement) server = await openPort();
    const opened = await Promise.race([openWithRetries({ config, logger }), ending]);
    if (typeof opened === 'string') {
      logger.info({ signal: opened }, 'stopped before it was ready');
      // No event was accepted, and the start can take a long time to fail.
      process.exit(0);
    }
    instep = opened;
    handle = instep.handle;
    offerSnapshots(instep.metrics.snapshot);
    server ??= await openPort();
    onListening(server.url);
    await operations?.show(instep.databaseServer, instep.metrics);

    onEnding(await ending);
    instep.stopBeingReady();
    // Load balancers still send requests until their next readiness check.
    await sleep(config.shutdownDelayMs);
  } finally {
    await server?.close(config.shutdownDeadlineMs);
    await operations?.close(OPERATIONS_DEADLINE_MS);
    await instep?.close();
  }
}

/** A database that starts together with this process can need a moment longer. */
async function openWithRetries(options: InstepOptions & { logger: Logger }): Promise<Service> {
  const giveUpAtMs = performance.now() + START_DEADLINE_MS;
  return await retry(() => openService(options), {
    isRetryable: (error) => error instanceof DatabaseUnavailable && performance.now() < giveUpAtMs,
    firstPauseMs: RETRY_AFTER_MS,
    longestPauseMs: RETRY_AFTER_MS,
    onRetry: (err) => options.logger.warn({ err }, 'waiting for the database'),
  });
}
