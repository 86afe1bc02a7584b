/**
 * For operators: find out what a team's plan is and why, and act. The commands and the console call these
 * functions, and your back office can do the same. They return data with codes; the page or command that shows it
 * owns the words. In their examples, `context` is what `openContext` returned, and `operator` is who acts, such as
 * `{ name: 'user:7', how: 'application' }`.
 *
 * @module operate
 */

export {
  type EventFilter,
  type EventRow,
  LOGGED_OUTCOMES,
  type LoggedEvent,
  type LoggedOutcome,
  MAX_COUNTED_PARKED,
  type SortOrder,
} from 'instep-engine/log';
export type {
  ApplicationId,
  Dismissal,
  IssueCause,
  PageEnds,
  PageStart,
  PlanChange,
  Team,
  TeamChangesRequest,
} from 'instep-engine/postgres';
export type {
  Counts,
  Difference,
  DriftCause,
  DriftIssue,
  FailedJob,
  Progress,
  RebuildFailure,
  ReconciliationIssue,
} from 'instep-engine/repair';
export {
  type ChangeCause as PlanChangeCause,
  type EventSubscription as SubscriptionState,
  GRANTING_STATUSES,
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
  parseTimeSince,
} from 'instep-engine/runtime';
export {
  DELETED_TYPE,
  type EventOrigin,
  HANDLED_TYPES,
  LOGGED_TYPES,
  type Mode,
  SNAPSHOT_TYPE,
} from 'instep-engine/stripe';
export {
  acknowledgeChanges,
  type ConsumerState,
  type FeedStart,
  findConsumers,
  type NewChangesRequest,
  readPlanChanges,
} from '../changes/consumers.ts';
export type { CheckoutOf, CompleteCheckoutRequest } from '../checkout/checkout.ts';
export { type Environment, type NamedToken, ROLES, type Role } from '../config/config.ts';
export type { EventReference, Explanation, PlanStep, Reason } from '../event-log/explain.ts';
export { type ReasonPart, reasonParts, reasonText } from '../event-log/reason-text.ts';
export type { Replayed, ReplayOutcomes } from '../event-log/replay.ts';
export type { PageOfEvents } from '../event-log/search.ts';
export type { Verdict } from '../health/derive-issues.ts';
export type { Figures } from '../health/figures.ts';
export { ADVICE, issueText } from '../health/issue-text.ts';
export {
  type Compared,
  type ComparisonIssueCode,
  type Concern,
  type ConsumerProgress,
  type Evidence,
  ISSUES,
  type Issue,
  type IssueCode,
  type IssueCounts,
  type IssueKind,
  type ModeEvidence,
  type Refusals,
  type Remedy,
  type Severity,
  SUBJECT_ISSUES,
  type SubjectIssueCode,
  TEAM_ISSUES,
  type TeamIssueCode,
} from '../health/issues.ts';
export { type CsvValue, csvLine } from '../runtime/csv.ts';
export type { ActionRequest, PerformOptions } from './actions.ts';
export {
  ACTIONS,
  type Action,
  type ActionResult,
  type Candidate,
  type ComparedPlans,
  type OperatorAction,
  parseSubject,
  type Subject,
  subjectText,
} from './audit.ts';
export {
  type Comparison,
  compareTeam,
  type Reconciliation,
  readReconciliation,
} from './compare.ts';
export {
  type Check,
  type ConsoleHandler,
  type ConsoleLogin,
  type ConsoleUser,
  type OpenContextOptions,
  type OperateContext,
  type Operated,
  type Operator,
  type OperatorAccess,
  openContext,
  type PageRequest,
  type Search,
  type TokenVerdict,
} from './context.ts';
export type { ChargedSubscription } from './double-billing.ts';
export { countEvents, type EventCountsRequest, type Slot } from './event-counts.ts';
export { eventsNamed, findEvents, redactedBody, subscriptionOf } from './events.ts';
export * from './explain.ts';
export {
  type ActionChange,
  type ActionFilter,
  findActions,
  type PageOfActions,
  type RecordedAction,
} from './find-actions.ts';
export {
  type ComparisonIssue,
  type FirstIssues,
  findIssues,
  type IssueEvidence,
  type ListedIssue,
  type OpenIssue,
} from './find-issues.ts';
export * from './find-teams.ts';
export { checkHealth, examineInstallation, type HealthReport } from './health.ts';
export type { LostPlan, NamedTeam } from './named-teams.ts';
export { MAX_COUNTED_OF_CUSTOMER } from './open-issues.ts';
export { type Performed, type PerformedAction, perform, type Task } from './perform.ts';
export { countTeams, type TeamCounts } from './team-counts.ts';
export type { HistoryEntry } from './team-history.ts';
export {
  readTimeline,
  type Timeline,
  type TimelineItem,
  type TimelineRequest,
} from './timeline.ts';
