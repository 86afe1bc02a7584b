// Names of the source that tests of several folders use: the only files that change when their modules move.

export { pruneChangesJobs } from 'instep/src/changes/prune-changes.ts';
export { readPositionSince } from 'instep-engine/src/log/event-rows.ts';
export { requestSubscriptions } from 'instep-engine/src/repair/asked-customers.ts';
export { FailedJobs } from 'instep-engine/src/repair/failed-jobs.ts';
export { createJobs } from 'instep-engine/src/repair/jobs.ts';
export { type LeasedRun, sweep, withLease } from 'instep-engine/src/repair/lease.ts';
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
export { readPageOfEvents, searchLog } from 'instep-operate/src/event-log/search.ts';
export { readFailedJobs } from 'instep-operate/src/issues/service-state.ts';
