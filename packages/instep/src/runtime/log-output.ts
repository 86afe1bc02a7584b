import { writeSync } from 'node:fs';

/** The destination of log lines, each of which ends with a line feed. */
export type LogDestination = { write(line: string): void };

const MAX_WAITING_BYTES = 1_048_576;
const RETRY_AFTER_MS = 50;
const FINAL_DEADLINE_MS = 1_000;
const FINAL_PAUSE_MS = 5;

/**
 * Standard output for log lines, which never blocks the process: if its reader stalls, about 1 MiB waits
 * here, and further lines are dropped and counted. Lines that arrive together are written together, because a
 * write costs more than its lines. At exit, the reader gets one more second.
 */
export function createLogOutput(now: () => number): LogDestination {
  let lines = '';
  let chunk = Buffer.alloc(0);
  let dropped = 0;
  let isScheduled = false;

  // Node makes a pipe or a socket non-blocking when it creates this stream. A file never stalls.
  const { fd } = process.stdout;

  /** Writes as much as the reader accepts. @returns whether nothing is left */
  function flush(): boolean {
    for (;;) {
      if (chunk.length === 0) {
        // There is room again: report the dropped lines before the lines that followed them.
        if (dropped > 0) lines += droppedLine(dropped, now());
        dropped = 0;
        chunk = Buffer.from(lines);
        lines = '';
      }
      if (chunk.length === 0) return true;
      try {
        chunk = chunk.subarray(writeSync(fd, chunk));
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return false;
        // The reader is gone, or the disk is full.
        chunk = Buffer.alloc(0);
        return true;
      }
    }
  }

  function flushLater(): void {
    isScheduled = !flush();
    if (isScheduled) setTimeout(flushLater, RETRY_AFTER_MS).unref();
  }

  process.once('exit', () => {
    const giveUpAtMs = performance.now() + FINAL_DEADLINE_MS;
    while (!flush() && performance.now() < giveUpAtMs) sleepSync(FINAL_PAUSE_MS);
  });

  return {
    write(line) {
      if (chunk.length + lines.length > MAX_WAITING_BYTES) dropped += 1;
      else lines += line;
      if (!isScheduled) setImmediate(flushLater);
      isScheduled = true;
    },
  };
}

function droppedLine(dropped: number, nowMs: number): string {
  const time = new Date(nowMs).toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped, msg: 'log lines dropped' })}\n`;
}

/** Blocks the process, which is exiting and has only the reader to wait for. */
function sleepSync(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}
