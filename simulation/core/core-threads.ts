import { Worker } from 'node:worker_threads';
import { addSummaries, type LevelOptions, type Summary } from '../level.ts';
import type { ThreadMessage, ThreadTask } from './core-thread.ts';

/**
 * The level `core` on several threads. As long as nothing diverges, the result does not depend on their
 * number. It works only with compiled code, because a thread starts from a file.
 */
export async function runCoreThreads(options: LevelOptions, threads: number): Promise<Summary> {
  const { onProgress, ...task } = options;
  const delivered: number[] = [];
  const summaries = await Promise.all(
    splitSeeds(task, threads).map((share, index) =>
      runThread(share, (deliveries) => {
        delivered[index] = deliveries;
        onProgress?.(delivered.reduce((sum, part) => sum + part, 0));
      }),
    ),
  );
  return summaries.reduce(addSummaries);
}

function splitSeeds(task: ThreadTask, threads: number): ThreadTask[] {
  const perSeed = Math.ceil(task.deliveries / task.seeds);
  const perThread = Math.ceil(task.seeds / threads);
  const tasks: ThreadTask[] = [];
  for (let from = 0; from < task.seeds; from += perThread) {
    const seeds = Math.min(perThread, task.seeds - from);
    const firstSeed = task.firstSeed + from;
    tasks.push({ ...task, firstSeed, seeds, deliveries: perSeed * seeds });
  }
  return tasks;
}

function runThread(task: ThreadTask, onProgress: (deliveries: number) => void): Promise<Summary> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./core-thread.js', import.meta.url), { workerData: task });
    worker.on('error', reject);
    worker.on('message', (message: ThreadMessage) => {
      if ('summary' in message) resolve(message.summary);
      else onProgress(message.deliveries);
    });
  });
}
