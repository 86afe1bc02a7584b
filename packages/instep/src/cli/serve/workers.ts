import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import * as v from 'valibot';
import { createExposition } from '../../operations/metrics/exposition.ts';
import { collectFromWorkers } from '../../operations/metrics/worker-snapshots.ts';
import {
  OPERATIONS_DEADLINE_MS,
  type Operations,
  openOperations,
} from '../../operations/open-operations.ts';
import { connectToServer } from '../../postgres/connect.ts';
import { InstepError } from '../../runtime/errors.ts';
import { SIGNALS } from '../signals.ts';
import type { ServerProcessOptions } from './server-process.ts';

/** A worker did not start or did not stop cleanly; its own log says why. */
class WorkerFailed extends InstepError {
  readonly code = 'WORKER_FAILED';
}

const STOP = 'stop';
const RESTART_AFTER_MS = 1_000;

/**
 * Serves with several processes until `ending` resolves. This process supervises them and serves the
 * console, which therefore takes no time from events. @throws WorkerFailed
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
    await supervise({ ...options, ending });
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

/** Runs processes that share one listener, and replaces one that ends. They end with this process. */
async function supervise(options: ServerProcessOptions): Promise<void> {
  const { logger, onListening, onEnding } = options;
  const count = options.config.workers;
  const running = new Set<Worker>();
  let phase: 'starting' | 'serving' | 'ending' = 'starting';
  const failures: string[] = [];
  const failed = new Promise<null>((resolve) => {
    cluster.on('exit', (worker, exitCode, signal) => {
      running.delete(worker);
      if (phase === 'serving') {
        logger.error({ worker: worker.id, exitCode, signal }, 'worker ended and is replaced');
        setTimeout(start, RESTART_AFTER_MS);
      } else if (phase === 'starting' || exitCode !== 0) {
        failures.push(`worker ${worker.id} ended with ${signal ?? exitCode}`);
        resolve(null);
      }
    });
  });

  let listening = 0;
  cluster.on('message', (worker, message: unknown) => {
    if (!v.is(listeningShape, message)) return;
    logger.info({ worker: worker.id, pid: worker.process.pid }, 'worker listening');
    listening += 1;
    if (phase !== 'starting' || listening < count) return;
    phase = 'serving';
    onListening(message.listening);
  });

  function start(): void {
    if (phase !== 'ending') running.add(cluster.fork());
  }

  for (let index = 0; index < count; index += 1) start();
  const reason = await Promise.race([options.ending, failed]);
  phase = 'ending';
  if (reason !== null) onEnding(reason);
  for (const worker of running) if (worker.isConnected()) worker.send(STOP);
  while (running.size > 0) await once(cluster, 'exit');
  if (failures.length > 0) throw new WorkerFailed(failures.join('; '));
}

const listeningShape = v.object({ listening: v.string() });

/** In a worker: tells the supervising process that this worker serves at this URL. */
export function reportListening(url: string): void {
  process.send?.({ listening: url });
}

/**
 * Resolves when the supervising process tells this worker to end. A worker ignores signals, because a
 * terminal sends them to all processes, and a second one would end the worker at once.
 */
export function nextStopMessage(): Promise<string> {
  for (const signal of SIGNALS) process.on(signal, () => undefined);
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (message === STOP) resolve(STOP);
    });
  });
}
