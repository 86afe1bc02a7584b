// `instep-engine/repair`: what finds and repairs what is out of sync.

export { askForOrder } from './ambiguous-order.ts';
export { NEW_CUSTOMERS_JOB } from './ask-jobs.ts';
export { readIsCompared, requestSubscriptions } from './asked-customers.ts';
export { type LeasedRun, withLease } from './lease.ts';
export { readPrunedBefore } from './prune.ts';
export { type Difference, foldLog, type RebuildFailure, rebuild } from './rebuild.ts';
export {
  type Counts,
  compareAnswer,
  type ReconcileServices,
  snapshotOf,
} from './reconcile/compare-customer.ts';
export {
  compare,
  type DriftCause,
  type DriftIssue,
  type ReconciliationIssue,
} from './reconcile/drift.ts';
export {
  type Listing,
  listCustomer,
  readListings,
} from './reconcile/listed-subscriptions.ts';
export {
  explainFailure,
  type Progress,
  ReconciliationFailed,
  readProgress,
  reconcile,
  reconcileCustomer,
} from './reconcile/reconcile.ts';
export { pseudonymsWith, redactBody, redactEvents } from './redact.ts';
export { limitRate } from './stripe-calls.ts';
export { type Job, type MaintenanceMode, startMaintenance } from './worker.ts';
