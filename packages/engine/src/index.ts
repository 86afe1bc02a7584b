// The engine's public API.

export {
  type CustomerDecision,
  decide,
} from './log/decide.ts';
export { EventLog, type EventLogOptions } from './log/event-log.ts';
export type { Queued } from './log/event-queues.ts';
export type {
  ActingOperator,
  ChangeCause,
  LogEvent,
  LoggedOutcome,
  LogResult,
  TeamId,
} from './log/log-event.ts';
export { LOGGED_OUTCOMES } from './log/log-event.ts';
export type { StoredCustomer, StoredTeam, Waiting } from './log/read-customers.ts';
export type { LoggedEvent, LoggedEvents, ParseLogged } from './log/read-events.ts';
export { writeText } from './log/write-text.ts';
export * from './postgres/errors.ts';
export { type PgPool, pgDatabase, SESSION_OPTIONS } from './postgres/pg-database.ts';
export { ENGINE_SCHEMA } from './postgres/schema.ts';
export type { Statement, StatementRunner } from './postgres/statement.ts';
export { nameOfPlan, type TeamsTable } from './postgres/teams-table.ts';
export { type Rebuilt, rebuildState } from './repair/rebuild-state.ts';
export {
  type AccessFacts,
  type AccessRules,
  ALL_ACCESS_RULES,
  accessFacts,
  accessRulesText,
  chargedSubscriptions,
  END_MARGIN_SECONDS,
} from './rule/access-facts.ts';
export { MAX_SUBSCRIPTIONS } from './rule/bounded-state.ts';
export {
  ambiguousReport,
  type CustomerState,
  NO_STATE,
  type SubscriptionState,
} from './rule/customer-state.ts';
export type { EventSubscription, Outcome, SubscriptionEvent } from './rule/event.ts';
export {
  FIRST_DATED_KEY,
  formatEventKey,
  type KeyRange,
  tieGroupRangeOf,
  tieGroupRanges,
} from './rule/event-key-layout.ts';
export { type Folded, fold, foldAll } from './rule/fold.ts';
export { asObject, isList, type Json, type JsonObject, member } from './rule/json.ts';
export { eventsNeededFor, KnownEvents, type NeededEvents } from './rule/known-events.ts';
export { contractPlan, hasPlan, isSamePlan, NO_PLAN, planAfter } from './rule/plan.ts';
export {
  CONTRACT_FIELDS,
  PLAN_FIELDS,
  type Plan,
  type PlanFieldName,
} from './rule/plan-fields.ts';
export {
  type PlanSelection,
  type ProductNames,
  selectedReport,
  teamPlan,
} from './rule/plan-selection.ts';
export { type PlanWriter, planWriterOf } from './rule/plan-writer.ts';
export { type Reported, reportedBy } from './rule/reported.ts';
export { isOutdated } from './rule/snapshot.ts';
export { readState, StateNewer, StateUnreadable, writeState } from './rule/state-json.ts';
export {
  type Access,
  ENDED_STATUSES,
  effectOf,
  GRANTING_STATUSES,
  rankOf,
  STATUSES,
  type Status,
  type StatusWith,
  statusesWithAccess,
} from './rule/status.ts';
export { Batcher, QueueFull } from './runtime/batcher.ts';
export { BoundedCache } from './runtime/bounded-cache.ts';
export { abortAfter, DeadlineExceeded, withDeadline } from './runtime/deadline.ts';
export { CodedError, codeOf, errorText, InstepError } from './runtime/errors.ts';
export * from './runtime/retry.ts';
export * from './runtime/tracing.ts';
