import { paint } from './output.ts';

export type Progress = {
  show(done: number): void;
  clear(): void;
};

export type ProgressOptions = {
  readonly unit: string;
  /** The exact or estimated total; `null` when it is unknown. */
  readonly total: number | null;
  /** Whether to show the rate and the remaining time. */
  readonly hasRate?: boolean;
};

const WIDTH = 30;
const INTERVAL_MS = 100;

/** A progress bar on standard error, if standard output is a terminal. */
export function createProgress(options: ProgressOptions): Progress {
  if (!process.stdout.isTTY) return { show: () => undefined, clear: () => undefined };
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let began: { readonly done: number; readonly atMs: number } | undefined;
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
  { unit, total, hasRate = false }: ProgressOptions,
  done: number,
  perSecond: number,
): string {
  const isFast = hasRate && perSecond > 0;
  const rate = isFast ? `, ${Math.round(perSecond).toLocaleString('en')}/s` : '';
  const count = done.toLocaleString('en');
  if (total === null || done > total) return `${count} ${unit}${rate}`;
  const share = total === 0 ? 1 : done / total;
  const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const left = isFast ? `, ${durationOf((total - done) / perSecond)} left` : '';
  const of = `${count} of ${total.toLocaleString('en')} ${unit}`;
  return `${paint('green', bar)} ${percent}  ${of}${rate}${left}`;
}

/** `57 s`, `12 min` or `3 h 20 min`. */
function durationOf(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
