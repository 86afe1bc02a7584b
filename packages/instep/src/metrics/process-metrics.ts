// The metrics of the process itself, which `metrics.ts` exposes with ours.

import { readdir, readFile } from 'node:fs/promises';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { counter, gauge, type Metric } from './series.ts';

/**
 * Memory, CPU, files and event loop of this process, under the names that dashboards for Node.js expect. The event loop
 * is measured from the first call on.
 */
export async function readProcessMetrics(): Promise<Metric[]> {
  if (delays === undefined) {
    delays = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
    delays.enable();
  }
  return [
    ...cpuMetrics(),
    ...memoryMetrics(),
    ...(await fileMetrics()),
    ...(await eventLoopMetrics(delays)),
  ];
}

let delays: IntervalHistogram | undefined;

const EVENT_LOOP_RESOLUTION_MS = 10;

function cpuMetrics(): Metric[] {
  const { user, system } = process.cpuUsage();
  return [
    counter('process_cpu_user_seconds_total', 'User CPU time.', user / 1e6),
    counter('process_cpu_system_seconds_total', 'System CPU time.', system / 1e6),
    counter('process_cpu_seconds_total', 'User and system CPU time.', (user + system) / 1e6),
    gauge(
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      Math.floor(performance.timeOrigin / 1_000),
    ),
  ];
}

function memoryMetrics(): Metric[] {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return [
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory of objects outside the heap.', external),
  ];
}

/** What only Linux tells, in /proc. Left out where it can't be read, as when too many files are open. */
async function fileMetrics(): Promise<Metric[]> {
  const reading = [readFile('/proc/self/limits', 'utf8'), readdir('/proc/self/fd')] as const;
  const [limits, files] = await Promise.all(reading).catch(() => [null, []] as const);
  if (limits === null) return [];
  const [, max] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return [
    // One of them is the directory that was just read.
    gauge('process_open_fds', 'Open file descriptors.', files.length - 1),
    gauge('process_max_fds', 'Maximum number of open file descriptors.', max ? Number(max) : null),
  ];
}

/** The distribution since the last call. */
async function eventLoopMetrics(delays: IntervalHistogram): Promise<Metric[]> {
  const calledAtMs = performance.now();
  await setImmediate();
  const lagSeconds = (performance.now() - calledAtMs) / 1_000;
  const name = (suffix: string) => `nodejs_eventloop_lag_${suffix}seconds`;
  const seconds = (nanoseconds: number) => (delays.count > 0 ? nanoseconds / 1e9 : null);
  const help = 'Event loop delay since the last scrape';
  const metrics = [
    gauge(name(''), 'Lag of the event loop now.', lagSeconds),
    gauge(name('max_'), `${help}: maximum.`, seconds(delays.max)),
    ...[50, 90, 99].map((percent) =>
      gauge(name(`p${percent}_`), `${help}: p${percent}.`, seconds(delays.percentile(percent))),
    ),
  ];
  delays.reset();
  return metrics;
}
