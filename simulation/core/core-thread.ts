import { parentPort, workerData } from 'node:worker_threads';
import type { LevelOptions, Summary } from '../level.ts';
import { runCoreLevel } from './core-level.ts';

/** What a thread is given to do. */
export type ThreadTask = Omit<LevelOptions, 'onProgress'>;

/** What a thread tells: how far it is, and in the end what came of it. */
export type ThreadMessage = { readonly deliveries: number } | { readonly summary: Summary };

function tell(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

const task: ThreadTask = workerData;
const summary = await runCoreLevel({ ...task, onProgress: (deliveries) => tell({ deliveries }) });
tell({ summary });
