import { durationOf } from '../runtime/amounts.ts';
import { paint } from './output.ts';

export type Progress = {
  show(done: number): void;
  clear(): void;
};

type ProgressOptions = {
  unit: string;
  /** The exact or estimated total; `null` when it is unknown. */
  total: number | null;
};

const WIDTH = 30;
const INTERVAL_MS = 100;

/** A progress bar on standard error, if standard output is a terminal. */
export function createProgress(options: ProgressOptions): Progress {
  if (!process.stdout.isTTY) return { show: () => undefined, clear: () => undefined };
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let began: { done: number; atMs: number } | undefined;
  return {
    show(done) {
      const nowMs = performance.now();
      began ??= { done, atMs: nowMs };
      if (nowMs - shownAtMs < INTERVAL_MS) return;
      shownAtMs = nowMs;
      const perSecond = ((done - began.done) * 1_000) / Math.max(1, nowMs - began.atMs);
      process.stderr.write(`\r${progressLine(options, done, perSecond)}\u001b[K`);
    },
    clear: () => process.stderr.write('\r\u001b[K'),
  };
}

/** `████░░░░  43%  43,200 of 100,000 subscriptions, 998/s, 57 s left` */
export function progressLine(
  { unit, total }: ProgressOptions,
  done: number,
  perSecond: number,
): string {
  const isMoving = perSecond > 0;
  const rate = isMoving ? `, ${Math.round(perSecond).toLocaleString('en')}/s` : '';
  const count = done.toLocaleString('en');
  if (total === null || done > total) return `${count} ${unit}${rate}`;
  const share = total === 0 ? 1 : done / total;
  const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const left = isMoving ? `, ${durationOf(((total - done) * 1_000) / perSecond)} left` : '';
  const of = `${count} of ${total.toLocaleString('en')} ${unit}`;
  return `${paint('green', bar)} ${percent}  ${of}${rate}${left}`;
}
