import { collectDefaultMetrics, Registry } from 'prom-client';
import * as v from 'valibot';
import { type Snapshot, snapshotShape } from './snapshot.ts';

/** There is one process, whoever asks. */
const registry = new Registry();
collectDefaultMetrics({ register: registry });

/** Memory, processor, event loop and garbage collection of this process, since this was loaded. */
export async function readProcessFigures(): Promise<Snapshot> {
  const metrics = await registry.getMetricsAsJSON();
  const known = metrics.map(({ values, ...metric }) => ({
    ...metric,
    // Some are no numbers until there is anything to measure.
    values: values.filter(({ value }) => Number.isFinite(value)),
  }));
  return v.parse(snapshotShape, known);
}
