// What the console still takes from the inside of the package, until the functions of this folder replace it.

export type { Environment } from '../config/config.ts';
export { type Customer, NO_SUBSCRIPTIONS, type SubscriptionState } from '../core/customer.ts';
export { decidingEvent, teamPlan } from '../core/plan-selection.ts';
export { effectOf, GRANTING_STATUSES, type StatusWith } from '../core/status.ts';
export { isSamePlan, NO_PLAN, PLAN_FIELDS } from '../core/transition.ts';
export { readPageOfEvents } from '../event-log/event-page.ts';
export { nameOf, type ReasonPart, reasonParts, reasonText } from '../event-log/reason-text.ts';
export { pseudonymsWith } from '../event-log/redact.ts';
export { readEventAt, readNewestPosition, searchLog } from '../event-log/search.ts';
export { countEvents } from '../event-log/search-events.ts';
export { MAX_COUNTED_PARKED } from '../health/health.ts';
export type { Query } from '../postgres/database.ts';
export { DatabaseBusy, DatabaseUnavailable } from '../postgres/errors.ts';
export {
  readCustomerIdsOf,
  readCustomers,
  type StoredCustomers,
} from '../postgres/statements/subscriptions.ts';
export { readTeam } from '../postgres/statements/teams.ts';
export { counted, countText, durationText } from '../runtime/count-text.ts';
export { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
export { durationOf, parseTimeSince } from '../runtime/duration.ts';
export { createLogger, type Logger } from '../runtime/logging.ts';
export { isSameSecret } from '../runtime/same-secret.ts';
export {
  DELETED_TYPE,
  HANDLED_TYPES,
  LOGGED_TYPES,
  SNAPSHOT_TYPE,
} from '../stripe/handled-event-type.ts';
export { originOfBody } from '../stripe/key-kind.ts';
export { changeOf } from '../stripe/parse-logged-event.ts';
export { redactBody } from '../stripe/redact-body.ts';
export { readLinkedMs } from './audit.ts';
export type { ConsoleHandler, ConsoleLogin, TokenVerdict } from './console-package.ts';
export { explainEvent, explainHistory } from './customer-history.ts';
export { readNamedTeam } from './named-teams.ts';
export { MAX_COUNTED_OF_CUSTOMER } from './open-issues.ts';
