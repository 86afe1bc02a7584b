// What the console still takes from the inside of the package, until the functions of this folder replace it.

export { type Customer, NO_SUBSCRIPTIONS, type SubscriptionState } from '../core/customer.ts';
export { decidingEvent, teamPlan } from '../core/plan-selection.ts';
export { effectOf } from '../core/status.ts';
export { isSamePlan } from '../core/transition.ts';
export { reasonText } from '../event-log/reason-text.ts';
export { pseudonymsWith } from '../event-log/redact.ts';
export type { Query } from '../postgres/database.ts';
export { DatabaseBusy, DatabaseUnavailable } from '../postgres/errors.ts';
export { readCustomers, type StoredCustomers } from '../postgres/statements/subscriptions.ts';
export { counted, countText, durationText } from '../runtime/count-text.ts';
export { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
export { durationOf } from '../runtime/duration.ts';
export type { Logger } from '../runtime/logging.ts';
export { isSameSecret } from '../runtime/same-secret.ts';
export { redactBody } from '../stripe/redact-body.ts';
export { readLinkedMs } from './audit.ts';
export { explainHistory } from './customer-history.ts';
export { readNamedTeam } from './named-teams.ts';
