import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import * as v from 'valibot';
import { type Snapshot, snapshotShape } from './exposition.ts';

const number = v.pipe(v.number(), v.integer());
const questionShape = v.object({ metricsQuestion: number });
const answerShape = v.object({ metricsAnswer: number, snapshot: snapshotShape });

const DEADLINE_MS = 2_000;

/** In a worker, sends this worker's metrics to the first process on request. Elsewhere, does nothing. */
export function offerSnapshots(takeSnapshot: () => Promise<Snapshot>): void {
  const { worker } = cluster;
  worker?.on('message', async (message: unknown) => {
    if (!v.is(questionShape, message)) return;
    send(worker, { metricsAnswer: message.metricsQuestion, snapshot: await takeSnapshot() });
  });
}

/**
 * In the first process, collects the metrics of each worker, with the label `worker`: a sum would fall when a
 * worker ends. A worker that does not answer within two seconds is left out.
 */
export async function collectFromWorkers(): Promise<Snapshot[]> {
  const workers = Object.values(cluster.workers ?? {});
  const snapshots = await Promise.all(
    workers.map((worker) => (worker?.isConnected() ? ask(worker) : [])),
  );
  return snapshots;
}

let questions = 0;

async function ask(worker: Worker): Promise<Snapshot> {
  questions += 1;
  const question = questions;
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const messages = on(worker, 'message', { signal });
  send(worker, { metricsQuestion: question });
  try {
    for await (const [message] of messages) {
      if (!v.is(answerShape, message) || message.metricsAnswer !== question) continue;
      return message.snapshot.map(({ comments, lines }) => ({
        comments,
        lines: lines.map((line) => withLabel(line, `worker="${worker.id}"`)),
      }));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return [];
}

function withLabel(line: string, label: string): string {
  const hasLabels = line.includes('{');
  return line.replace(/\}? (?=\S+$)/, `${hasLabels ? ',' : '{'}${label}} `);
}

/** A worker that has ended needs no answer. */
function send(worker: Worker, message: object): void {
  worker.send(message, () => undefined);
}
