import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { InstepError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logging.ts';
import { urlOf } from '../../server/listener.ts';
import { SIGNALS } from '../signals.ts';

/** A worker could not begin: what it wrote before says why. */
class WorkerFailed extends InstepError {
  readonly code = 'WORKER_FAILED';
}

export type WorkersOptions = {
  readonly count: number;
  readonly logger: Logger;
  /** Resolves, with the reason, when all is to end. */
  readonly ending: Promise<string>;
  /** Called as soon as all of them listen. */
  readonly onListening: (url: string) => void;
  readonly onEnding: (reason: string) => void;
};

const STOP = 'stop';
const RESTART_AFTER_MS = 1_000;

/**
 * Runs so many processes that share one listener. One that ends unasked is replaced. This process
 * itself serves nothing: when it is gone, they end at once.
 *
 * @throws WorkerFailed when one of them ends before all have listened, or does not end in order
 */
export async function superviseWorkers(options: WorkersOptions): Promise<void> {
  const { count, logger, onListening, onEnding } = options;
  const running = new Set<Worker>();
  let phase: 'starting' | 'serving' | 'ending' = 'starting';
  const failures: string[] = [];
  const failed = new Promise<null>((resolve) => {
    cluster.on('exit', (worker, exitCode, signal) => {
      running.delete(worker);
      if (phase === 'serving') {
        logger.error({ worker: worker.id, exitCode, signal }, 'worker ended, another one starts');
        setTimeout(start, RESTART_AFTER_MS);
      } else if (phase === 'starting' || exitCode !== 0) {
        failures.push(`worker ${worker.id} ended with ${signal ?? exitCode}`);
        resolve(null);
      }
    });
  });

  let listening = 0;
  cluster.on('listening', (worker, { address, port }) => {
    logger.info({ worker: worker.id, pid: worker.process.pid }, 'worker listening');
    listening += 1;
    if (phase !== 'starting' || listening < count) return;
    phase = 'serving';
    onListening(urlOf(address, port));
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

/**
 * Resolves when the process that watches over this worker says that it is to end. Signals are for
 * that one: a terminal sends them to all processes, and a second one would end this one at once.
 */
export function nextOrder(): Promise<string> {
  for (const signal of SIGNALS) process.on(signal, () => undefined);
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (message === STOP) resolve(STOP);
    });
  });
}
