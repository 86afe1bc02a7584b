import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import { z } from 'zod';
import { type Snapshot, snapshotShape, withLabel } from './snapshot.ts';

/** What the first process asks, and what a worker answers. */
const questionShape = z.object({ metricsQuestion: z.int() });
const answerShape = z.object({ metricsAnswer: z.int(), snapshot: snapshotShape });

const DEADLINE_MS = 2_000;

/** In a worker: lets the first process have what this one has counted. Elsewhere it does nothing. */
export function offerSnapshots(takeSnapshot: () => Promise<Snapshot>): void {
  const { worker } = cluster;
  worker?.on('message', async (message: unknown) => {
    const { success, data } = questionShape.safeParse(message);
    if (!success) return;
    send(worker, { metricsAnswer: data.metricsQuestion, snapshot: await takeSnapshot() });
  });
}

/**
 * In the first process: what each worker has counted, with its number as the label `worker`, as its
 * log lines have it. Summed up it would fall when a worker ends, and look like a rise to Prometheus.
 * A worker that does not answer within two seconds is left out.
 */
export async function collectFromWorkers(): Promise<Snapshot[]> {
  const workers = Object.values(cluster.workers ?? {});
  const snapshots = await Promise.all(
    workers.map((worker) => (worker?.isConnected() ? ask(worker) : null)),
  );
  return snapshots.filter((snapshot) => snapshot !== null);
}

let questions = 0;

async function ask(worker: Worker): Promise<Snapshot | null> {
  questions += 1;
  const question = questions;
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const messages = on(worker, 'message', { signal });
  send(worker, { metricsQuestion: question });
  try {
    for await (const [message] of messages) {
      const { success, data } = answerShape.safeParse(message);
      if (success && data.metricsAnswer === question) {
        return withLabel(data.snapshot, 'worker', String(worker.id));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return null;
}

/** Whoever has ended since needs nothing any more. */
function send(worker: Worker, message: object): void {
  worker.send(message, () => undefined);
}
