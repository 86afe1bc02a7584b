// Names of the source that tests of several folders use: the only files that change when their modules move.

export { deleteDismissedEvents, dismissParkedEvents } from 'instep/src/event-log/dismiss.ts';
export { readPositionSince } from 'instep/src/event-log/event-rows.ts';
export { pruneEvents, pruneLog, readPrunedBefore } from 'instep/src/event-log/prune.ts';
export { rebuild } from 'instep/src/event-log/rebuild.ts';
export { replayEvents } from 'instep/src/event-log/replay.ts';
export { readPageOfEvents, searchLog } from 'instep/src/event-log/search.ts';
export { FailedJobs, readFailedJobs } from 'instep/src/maintenance/failed-jobs.ts';
export { createJobs } from 'instep/src/maintenance/jobs.ts';
export { type LeasedRun, sweep, withLease } from 'instep/src/maintenance/lease.ts';
export {
  IS_COMPARED,
  raiseQuestions,
  requestSubscriptions,
} from 'instep/src/maintenance/questions.ts';
export {
  createReconcileJob,
  reconcile,
  reconcileCustomer,
} from 'instep/src/maintenance/reconcile/reconcile.ts';
export { limitRate, readPages } from 'instep/src/maintenance/stripe-calls.ts';
export {
  createOnDemandMaintenance,
  openMaintenance,
  startMaintenance,
} from 'instep/src/maintenance/worker.ts';
