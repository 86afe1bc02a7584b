// Ends a process in which one input never finishes, and prints the input. It runs in its own thread, because
// an endless loop blocks everything else in its thread.
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const TICK_MS = 1_000;
/** Counted in ticks, which also stop while the whole process is stopped. */
const MAX_TICKS = 20;
const STDERR = 2;

const [state, bytes] = [new Int32Array(workerData, 0, 2), Buffer.from(workerData, 8)];
let last = 0;
let ticks = 0;

setInterval(() => {
  const count = Atomics.load(state, 0);
  ticks = count === last ? ticks + 1 : 0;
  last = count;
  if (ticks < MAX_TICKS) return;
  const input = bytes.toString('latin1', 0, Atomics.load(state, 1));
  writeSync(STDERR, `no end after ${MAX_TICKS} s with this input:\n${JSON.stringify(input)}\n`);
  process.kill(process.pid, 'SIGKILL');
}, TICK_MS);
