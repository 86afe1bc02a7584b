// The public API of the package `instep-operate`, which `instep/operate` passes on. The other entry points are for `instep`
// itself: feature.ts, host.ts, metrics/ and operators-listener/.

export {
  type EventRow,
  LOGGED_OUTCOMES,
  type LoggedEvent,
  type LoggedOutcome,
  type SortOrder,
} from 'instep-engine/log';
export type {
  ApplicationId,
  IssueCause,
  PlanChange,
  Team,
  TeamChangesRequest,
} from 'instep-engine/postgres';
export type {
  Counts,
  Difference,
  DriftCause,
  DriftIssue,
  Progress,
  RebuildFailure,
  ReconciliationIssue,
} from 'instep-engine/repair';
export {
  type ChangeCause as PlanChangeCause,
  type EventSubscription as SubscriptionState,
  type Json,
  type JsonObject,
  type PlanInRow as TeamPlan,
  type PlanSelection,
  STATUSES,
  type Status,
  type StatusWith,
  type SubscriptionEvent as ParsedEvent,
} from 'instep-engine/rule';
export {
  counted,
  countText,
  createLogger,
  durationText,
  InstepError,
  type Logger,
} from 'instep-engine/runtime';
export {
  DELETED_TYPE,
  type EventOrigin,
  HANDLED_TYPES,
  type Mode,
  SNAPSHOT_TYPE,
} from 'instep-engine/stripe';
export { type Reason, type ReasonCode, type ReasonPart, reasonText } from './event-log/reasons.ts';
export type { Replayed, ReplayOutcomes } from './event-log/replay.ts';
export { countIssues, findIssues, type IssueFilter, type OpenIssue } from './issues/find-issues.ts';
export type { IssueKind, Remedy, Severity } from './issues/issue.ts';
export * from './issues/issues.ts';
export type { OtherFeatures, ServiceState } from './issues/service-state.ts';
export { type ComparisonEvidence, MAX_COUNTED_OF_CUSTOMER } from './issues/subject-issues.ts';
export * from './operate/actions.ts';
export type { AlertConfig } from './operate/alerts.ts';
export type {
  ActionResult,
  Candidate,
  ComparedPlans,
  Outcome,
  RebuildCounts,
} from './operate/audit.ts';
export type * from './operate/context.ts';
export * from './operate/event-counts.ts';
export * from './operate/explain.ts';
export * from './operate/find-actions.ts';
export * from './operate/find-events.ts';
export * from './operate/find-teams.ts';
export { checkHealth, type HealthReport, type Verdict } from './operate/health.ts';
export { type Person, readPeople } from './operate/people.ts';
export * from './operate/repair-all.ts';
export { type NamedToken, ROLES, type Role } from './operate/roles.ts';
export { readPlanNames } from './operate/set-plan.ts';
export type {
  PlanStep,
  Timeline,
  TimelineChange,
  TimelineItem,
} from './operate/timeline.ts';
export * from './operate/waiting-customers.ts';
export { type CsvValue, csvLine } from './runtime/csv.ts';
export type { Page, PageEnds, PageRequest, PageStart, Search } from './runtime/pages.ts';
export { type LostPlan, type NamedTeam, readTeam } from './teams/named-teams.ts';
export { parseSubject, type Subject, subjectText } from './teams/subject.ts';
