import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import * as v from 'valibot';
import { type Snapshot, snapshotShape, withLabel } from './snapshot.ts';

/** What the first process asks, and what a worker answers. */
const number = v.pipe(v.number(), v.integer());
const questionShape = v.object({ metricsQuestion: number });
const answerShape = v.object({ metricsAnswer: number, snapshot: snapshotShape });

const DEADLINE_MS = 2_000;

/** In a worker: lets the first process have what this one has counted. Elsewhere it does nothing. */
export function offerSnapshots(takeSnapshot: () => Promise<Snapshot>): void {
  const { worker } = cluster;
  worker?.on('message', async (message: unknown) => {
    if (!v.is(questionShape, message)) return;
    send(worker, { metricsAnswer: message.metricsQuestion, snapshot: await takeSnapshot() });
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
      if (v.is(answerShape, message) && message.metricsAnswer === question) {
        return withLabel(message.snapshot, 'worker', String(worker.id));
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
