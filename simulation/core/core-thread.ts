import { parentPort, workerData } from 'node:worker_threads';
import type { LevelOptions, Summary } from '../level.ts';
import { runCoreLevel } from './core-level.ts';

export type ThreadTask = Omit<LevelOptions, 'onProgress'>;

/** The progress of a thread, and finally its result. */
export type ThreadMessage = { readonly deliveries: number } | { readonly summary: Summary };

function post(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

const task: ThreadTask = workerData;
const summary = await runCoreLevel({ ...task, onProgress: (deliveries) => post({ deliveries }) });
post({ summary });
