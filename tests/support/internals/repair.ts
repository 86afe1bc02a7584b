// Names of the source that tests of several folders use: the only files that change when their modules move.

import { type EventFilter, findEvents, type SortOrder } from 'instep/operate';
import type { Query } from './database.ts';

export { requestSubscriptions } from 'instep-engine/src/repair/asked-customers.ts';
export { createJobs } from 'instep-engine/src/repair/jobs.ts';
export { endPauses, withLease } from 'instep-engine/src/repair/lease.ts';
export {
  pruneCustomers,
  pruneEvents,
  pruneLog,
  readPrunedBefore,
} from 'instep-engine/src/repair/prune.ts';
export { rebuild } from 'instep-engine/src/repair/rebuild.ts';
export {
  createReconcileJob,
  reconcile,
  reconcileCustomer,
} from 'instep-engine/src/repair/reconcile/reconcile.ts';
export { limitRate, readPages } from 'instep-engine/src/repair/stripe-calls.ts';
export {
  createOnDemandMaintenance,
  openMaintenance,
  startMaintenance,
} from 'instep-engine/src/repair/worker.ts';
export { replayEvents } from 'instep-operate/src/event-log/replay.ts';

/** All events that match. */
export const searchLog = (query: Query, filter: EventFilter, order: SortOrder) =>
  findEvents({ database: { query } }, filter, order).all();
