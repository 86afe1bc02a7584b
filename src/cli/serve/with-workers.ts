import { createExposition } from '../../operations/metrics/exposition.ts';
import { collectFromWorkers } from '../../operations/metrics/worker-snapshots.ts';
import {
  OPERATIONS_DEADLINE_MS,
  type Operations,
  openOperations,
} from '../../operations/open-operations.ts';
import { connectToServer } from '../../postgres/connect.ts';
import type { ServerProcessOptions } from './server-process.ts';
import { superviseWorkers } from './workers.ts';

/**
 * Serves with several processes until `ending` says why not any longer. This one watches over
 * them and shows the operators' pages, which thus take no time of any event's.
 */
export async function runWorkers(options: ServerProcessOptions): Promise<void> {
  const { config, logger } = options;
  const operations = await openOperations({ config, logger, now: Date.now });
  const shown = show(operations, options);
  const failed = shown.then(
    () => new Promise<never>(() => undefined),
    () => 'the operations listener failed',
  );
  const ending = Promise.race([options.ending, failed]);
  try {
    await superviseWorkers({ ...options, count: config.workers, ending });
  } finally {
    await operations?.close(OPERATIONS_DEADLINE_MS);
    await (await shown)?.release();
  }
}

async function show(operations: Operations | null, { config, logger }: ServerProcessOptions) {
  if (operations === null) return null;
  const notice = (message: string) => logger.info(message);
  const server = await connectToServer({ ...config.database, notice });
  await operations.show(server, createExposition(collectFromWorkers));
  return server;
}
