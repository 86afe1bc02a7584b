import { readdir, readFile } from 'node:fs/promises';
import {
  constants,
  type IntervalHistogram,
  monitorEventLoopDelay,
  PerformanceObserver,
} from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import * as v from 'valibot';
import { counter, gauge, gaugeBy, Histogram, line, type Metric, metric } from './series.ts';

/**
 * Memory, CPU, files, event loop and garbage collection of this process, under the names that dashboards
 * for Node.js expect. The event loop and the garbage collection are measured from the first call on.
 */
export async function readProcessMetrics(): Promise<Metric[]> {
  measured ??= startMeasuring();
  return [
    ...cpuMetrics(),
    ...(await systemMetrics()),
    ...(await eventLoopMetrics(measured.eventLoop)),
    ...resourceMetrics(),
    ...memoryMetrics(),
    versionMetric(),
    measured.collections.read(),
  ];
}

let measured: ReturnType<typeof startMeasuring> | undefined;

const EVENT_LOOP_RESOLUTION_MS = 10;

const COLLECTIONS = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** The types of Node.js lack the details of a collection. */
const collectionShape = v.object({
  duration: v.number(),
  detail: v.object({ kind: v.number() }),
});

function startMeasuring() {
  const collections = new Histogram(
    'nodejs_gc_duration_seconds',
    'Duration of garbage collections, by kind: major, minor, incremental or weakcb.',
    [0.001, 0.01, 0.1, 1, 2, 5],
  );
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!v.is(collectionShape, entry)) continue;
      const kind = COLLECTIONS.get(entry.detail.kind);
      if (kind !== undefined) collections.observe(entry.duration / 1_000, { kind });
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  const eventLoop = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
  eventLoop.enable();
  return { collections, eventLoop };
}

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

/** What only Linux tells, in /proc. */
async function systemMetrics(): Promise<Metric[]> {
  if (process.platform !== 'linux') return [];
  const [status, limits, files] = await Promise.all([
    readFile('/proc/self/status', 'utf8'),
    readFile('/proc/self/limits', 'utf8'),
    readdir('/proc/self/fd'),
  ]);
  const bytesOf = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024;
  const maxFiles = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
  return [
    gauge('process_virtual_memory_bytes', 'Virtual memory.', known(bytesOf('VmSize'))),
    gauge('process_heap_bytes', 'Data segment of the process.', known(bytesOf('VmData'))),
    // One of them is the directory that was just read.
    gauge('process_open_fds', 'Open file descriptors.', files.length - 1),
    gauge('process_max_fds', 'Maximum number of open file descriptors.', known(maxFiles)),
  ];
}

/** The distribution since the last call. */
async function eventLoopMetrics(delays: IntervalHistogram): Promise<Metric[]> {
  const calledAtMs = performance.now();
  await setImmediate();
  const lagSeconds = (performance.now() - calledAtMs) / 1_000;
  const name = (suffix: string) => `nodejs_eventloop_lag_${suffix}seconds`;
  const seconds = (nanoseconds: number) => (delays.count > 0 ? known(nanoseconds / 1e9) : null);
  const metrics = [
    gauge(name(''), 'Lag of the event loop now.', lagSeconds),
    gauge(name('min_'), 'Minimum event loop delay since the last scrape.', seconds(delays.min)),
    gauge(name('max_'), 'Maximum event loop delay since the last scrape.', seconds(delays.max)),
    gauge(name('mean_'), 'Mean event loop delay since the last scrape.', seconds(delays.mean)),
    gauge(
      name('stddev_'),
      'Standard deviation of the event loop delays since the last scrape.',
      seconds(delays.stddev),
    ),
    ...[50, 90, 99].map((percent) =>
      gauge(
        name(`p${percent}_`),
        `${percent}th percentile of the event loop delays since the last scrape.`,
        seconds(delays.percentile(percent)),
      ),
    ),
  ];
  delays.reset();
  return metrics;
}

function resourceMetrics(): Metric[] {
  const types = process.getActiveResourcesInfo();
  const counts: Record<string, number> = {};
  for (const type of types) counts[type] = (counts[type] ?? 0) + 1;
  return [
    gaugeBy(
      'type',
      'nodejs_active_resources',
      'Resources that keep the event loop alive, by type.',
      counts,
    ),
    gauge(
      'nodejs_active_resources_total',
      'Number of resources that keep the event loop alive.',
      types.length,
    ),
  ];
}

function memoryMetrics(): Metric[] {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const spaces = getHeapSpaceStatistics().map((space) => ({
    ...space,
    name: space.space_name.replace(/_space$/, ''),
  }));
  const bySpace = (part: string, read: (space: (typeof spaces)[number]) => number) =>
    gaugeBy(
      'space',
      `nodejs_heap_space_size_${part}_bytes`,
      `Size of the heap's spaces: ${part}.`,
      Object.fromEntries(spaces.map((space) => [space.name, read(space)])),
    );
  return [
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory of objects outside the heap.', external),
    bySpace('total', ({ space_size }) => space_size),
    bySpace('used', ({ space_used_size }) => space_used_size),
    bySpace('available', ({ space_available_size }) => space_available_size),
  ];
}

function versionMetric(): Metric {
  const name = 'nodejs_version_info';
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const labels = { version: process.version, major, minor, patch };
  return metric(name, 'The version of Node.js.', 'gauge', [line(name, labels, 1)]);
}

/** A number that could not be read is left out. */
function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
