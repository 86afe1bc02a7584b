import type { IngestPipeline } from '../../ingest/pipeline.ts';
import { observeApiCalls } from './api-calls.ts';
import { observeBatches } from './batches.ts';
import { type DatabaseGaugesOptions, observeDatabase } from './database-gauges.ts';
import { observeEvents } from './events.ts';
import { createExposition, type Exposition } from './exposition.ts';
import { Instruments } from './instruments.ts';
import { observeMaintenance } from './maintenance-runs.ts';
import { observeRequests } from './requests.ts';
import { observeSignatures } from './signatures.ts';
import type { Snapshot } from './snapshot.ts';

/** What one process counts. */
export type Metrics = Exposition & { snapshot(): Promise<Snapshot> };

/**
 * Counts what this process does. The parts know nothing of it: what can be wrapped is wrapped where
 * all is put together, and does what it did before.
 */
export function createMetrics(options: DatabaseGaugesOptions) {
  const { now, clockMs } = options;
  const instruments = new Instruments();
  const { observeDoor, ...events } = observeEvents(instruments);
  const { observeQueue, onBatch } = observeBatches(instruments);
  observeDatabase(instruments, options);
  const snapshot = () => instruments.snapshot();
  return {
    ...createExposition(async () => [await snapshot()]),
    ...observeRequests(instruments, clockMs),
    ...events,
    snapshot,
    onBatch,
    observeDoor<Observed extends IngestPipeline>(door: Observed): Observed {
      observeQueue(door.queued);
      return observeDoor(door);
    },
    observeKeeper: observeMaintenance(instruments, clockMs),
    observeApi: observeApiCalls(instruments, clockMs),
    ...observeSignatures(instruments, now),
  };
}
