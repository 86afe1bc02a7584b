import * as v from 'valibot';
import { type Snapshot, snapshotShape } from './snapshot.ts';

/** Memory, CPU, event loop and garbage collection of this process. */
export async function readProcessMetrics(): Promise<Snapshot> {
  const metrics = await (await processRegistry()).getMetricsAsJSON();
  const known = metrics.map(({ values, ...metric }) => ({
    ...metric,
    // Some are NaN until there is something to measure.
    values: values.filter(({ value }) => Number.isFinite(value)),
  }));
  return v.parse(snapshotShape, known);
}

let registry: ReturnType<typeof createRegistry> | undefined;

function processRegistry() {
  registry ??= createRegistry();
  return registry;
}

async function createRegistry() {
  // It takes 40 ms to load, which no start should wait for.
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
