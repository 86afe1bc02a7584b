import { paint } from './output.ts';

export type Progress = {
  show(done: number): void;
  clear(): void;
};

const WIDTH = 30;
const INTERVAL_MS = 100;

/** A progress bar on standard error, where standard output is a terminal; else nothing. */
export function createProgress(total: number, unit: string): Progress {
  if (!process.stdout.isTTY) return { show: () => undefined, clear: () => undefined };
  let shownAtMs = 0;
  return {
    show(done) {
      const nowMs = Date.now();
      if (nowMs - shownAtMs < INTERVAL_MS) return;
      shownAtMs = nowMs;
      const share = Math.min(1, done / total);
      const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      const count = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}`;
      process.stderr.write(`\r${paint('green', bar)} ${percent}  ${count}`);
    },
    clear: () => process.stderr.write('\r\u001b[K'),
  };
}
