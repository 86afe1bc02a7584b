// `instep-engine/rule`: pure: events, states, plans.

export { accessFacts, chargedSubscriptions, END_MARGIN_SECONDS } from './access-facts.ts';
export { MAX_SUBSCRIPTIONS } from './bounded-state.ts';
export { ambiguousReport, type CustomerState, NO_STATE } from './customer-state.ts';
export type { EventSubscription, Outcome, SubscriptionEvent } from './event.ts';
export {
  FIRST_DATED_KEY,
  formatEventKey,
  tieGroupRangeOf,
  tieGroupRanges,
} from './event-key-layout.ts';
export { fold, foldAll } from './fold.ts';
export { asObject, type Json, type JsonObject } from './json.ts';
export { eventsNeededFor, KnownEvents } from './known-events.ts';
export { hasPlan, isPlanOf, isSamePlan, NO_PLAN, planAfter } from './plan.ts';
export type { ActingOperator, ChangeCause } from './plan-change.ts';
export {
  CONTRACT_FIELDS,
  PLAN_FIELDS,
  type Plan,
  type PlanFieldName,
  type PlanInRow,
  partOf,
} from './plan-fields.ts';
export { bestOf, type PlanSelection, selectedReport, teamPlan } from './plan-selection.ts';
export { planWriterOf } from './plan-writer.ts';
export { type Reported, reportedBy } from './reported.ts';
export { isOutdated } from './snapshot.ts';
export { readState, StateNewer, StateUnreadable, writeState } from './state-json.ts';
export {
  type Access,
  ENDED_STATUSES,
  effectOf,
  GRANTING_STATUSES,
  isCharged,
  rankOf,
  STATUSES,
  type Status,
  type StatusWith,
  statusesWithAccess,
} from './status.ts';
