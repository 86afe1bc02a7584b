import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessMetrics } from 'instep/src/metrics/process-metrics.ts';
import { createExposition } from 'instep/src/metrics/series.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { valuesIn } from '../support/service/metrics-service.ts';

const proc = vi.hoisted(() => ({ isReadable: true }));
vi.mock('node:fs/promises', async (load) => {
  const actual = await load<typeof import('node:fs/promises')>();
  const readdir = async (path: string) => {
    if (!proc.isReadable) throw new Error('EMFILE: too many open files');
    return await actual.readdir(path);
  };
  return { ...actual, readdir };
});

const { expose } = createExposition(readProcessMetrics);

test('the metrics of the process have the values that the system gives', async () => {
  const used = process.cpuUsage();
  const values = valuesIn(await expose());
  const value = (name: string) => values.get(name) ?? Number.NaN;
  expect(value('process_cpu_seconds_total')).toBeGreaterThanOrEqual(
    (used.user + used.system) / 1e6,
  );
  expect(value('process_cpu_seconds_total')).toBeCloseTo(
    value('process_cpu_user_seconds_total') + value('process_cpu_system_seconds_total'),
  );
  const bootedAtSeconds = Date.now() / 1_000 - process.uptime();
  expect(Math.abs(value('process_start_time_seconds') - bootedAtSeconds)).toBeLessThanOrEqual(1);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10e6);
  expect(value('nodejs_heap_size_used_bytes')).toBeLessThan(value('nodejs_heap_size_total_bytes'));
});

test.runIf(process.platform === 'linux')('on Linux, they include files', async () => {
  const values = valuesIn(await expose());
  const value = (name: string) => values.get(name) ?? Number.NaN;
  expect(value('process_open_fds')).toBeGreaterThan(2);
  expect(value('process_open_fds')).toBeLessThan(value('process_max_fds'));
});

test('where /proc cannot be read, the metrics of files alone are left out', async () => {
  proc.isReadable = false;
  onTestFinished(() => {
    proc.isReadable = true;
  });
  const values = valuesIn(await expose());
  expect(values.has('process_open_fds')).toBe(false);
  expect(values.has('process_cpu_seconds_total')).toBe(true);
});

test('a blocked event loop is measured from the first scrape on', async () => {
  await expose();
  let longest = 0;
  // The first delay is measured between two ticks.
  await sleep(50);
  const untilMs = performance.now() + 300;
  while (performance.now() < untilMs);
  await vi.waitFor(async () => {
    const values = valuesIn(await expose());
    // Each scrape begins a new distribution.
    longest = Math.max(longest, values.get('nodejs_eventloop_lag_max_seconds') ?? 0);
    expect(longest).toBeGreaterThan(0.1);
  }, 5_000);
});
