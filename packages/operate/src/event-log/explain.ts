// Recomputes the decisions on a customer's events, and says as codes why each was made. operate/ calls it for a
// team's history and an event's page; reason-text.ts puts the codes into words.

import { type EventRow, type LoggedEvent, parseAgain, parseLogged } from 'instep-engine/log';
import type { ApplicationId, Team } from 'instep-engine/postgres';
import {
  type CustomerState,
  effectOf,
  fold,
  KnownEvents,
  NO_PLAN,
  NO_STATE,
  type Outcome,
  type PlanInRow,
  type PlanSelection,
  partOf,
  type Reported,
  reportedBy,
  type SubscriptionEvent,
  selectedReport,
  teamPlan,
} from 'instep-engine/rule';
import { SNAPSHOT_TYPE } from 'instep-engine/stripe';

/** Identifies a logged event for a person. */
export type EventReference = {
  /** Several events can share an id, but none shares its position; `null`: it is not in the log. */
  readonly position: number | null;
  readonly eventId: string | null;
  readonly isSnapshot: boolean;
  readonly subscriptionId: string | null;
};

/** Why an event has its outcome. The operators' pages and commands put it into words. */
export type Reason =
  /** `problem`: what can't be read; `null`: the stored body is not a subscription event at all. */
  | { readonly code: 'unreadable'; readonly problem: string | null }
  | { readonly code: 'readable-now'; readonly position: number }
  | { readonly code: 'no-team'; readonly customerId: string | null }
  | { readonly code: 'team-linked-since'; readonly teamIds: readonly ApplicationId[] }
  /** The events around it were pruned, or were decided in another order or with another TEAM_PLAN. */
  | { readonly code: 'no-longer-known' }
  | {
      readonly code: 'newest-event' | 'best-subscription' | 'shown-by-stripe';
      readonly status: string;
      readonly effect: 'grants' | 'clears';
    }
  | { readonly code: 'decided-order-of-tie-group'; readonly last: EventReference }
  | { readonly code: 'no-longer-best'; readonly deciding: EventReference }
  | {
      readonly code: 'newer-event';
      readonly newer: EventReference;
      readonly isSameSubscription: boolean;
      readonly secondsLater: number;
    }
  | {
      readonly code: 'earlier-in-tie-group';
      readonly last: EventReference;
      readonly eventCount: number;
    }
  | { readonly code: 'status-without-effect'; readonly status: string }
  | { readonly code: 'better-subscription'; readonly deciding: EventReference }
  | { readonly code: 'ambiguous-order'; readonly eventCount: number }
  | { readonly code: 'earlier-events-pruned'; readonly prunedBeforeMs: number };

/** A logged event and what its body says about a subscription. */
export type ParsedLoggedEvent<Event extends LoggedEvent> = {
  readonly event: Event;
  readonly parsed: SubscriptionEvent;
};

/** Parses the body of each event once, and drops those that can't be read. */
export function parseLog<Event extends LoggedEvent>(
  log: readonly Event[],
): ParsedLoggedEvent<Event>[] {
  return log.flatMap((event) => {
    const parsed = parseLogged(event);
    return parsed === null ? [] : [{ event, parsed }];
  });
}

/** What the tables say about a customer, besides its events. */
export type LogContext = {
  readonly planSelection: PlanSelection;
  /** The teams that have the customer now. */
  readonly teams: readonly Pick<Team, 'id' | 'plan'>[];
  /** The names of products, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/** A team's plan before and after something; `null` where it is not known. */
export type PlanStep = { readonly before: PlanInRow | null; readonly after: PlanInRow | null };

/** The decision on an event, and its reason. */
export type Explanation = {
  readonly reasons: readonly Reason[];
  /** The plan of the customer's teams; `null` where it is unknown. */
  readonly plans: PlanStep | null;
};

/** Returns an explanation of any event of a customer, recomputed from the customer's log. Pure. */
export function explainLog(
  log: readonly ParsedLoggedEvent<EventRow>[],
  context: LogContext,
): (event: EventRow) => Explanation {
  const decisions = recomputeDecisions(log, context.planSelection);
  return (event) => {
    if (event.outcome === 'unreadable') return { reasons: [whyUnreadable(event)], plans: null };
    if (event.outcome === 'parked') return { reasons: [whyParked(event, context)], plans: null };
    const decision = decisions.get(event.key);
    if (decision?.outcome !== event.outcome) {
      return { reasons: [{ code: 'no-longer-known' }], plans: null };
    }
    const { planSelection, names, teams } = context;
    const row = teams[0]?.plan ?? NO_PLAN;
    const planOf = (state: CustomerState): PlanInRow | null => {
      const plan = teamPlan(state, planSelection, names);
      return plan && partOf(plan, row);
    };
    return {
      reasons: [why(decision, planSelection), ...remarks(decision, context)],
      plans: { before: planOf(decision.before), after: planOf(decision.after) },
    };
  };
}

/** A decision that was recomputed from the log, and what was known then. */
type RecomputedDecision = {
  readonly outcome: Outcome;
  readonly parsed: SubscriptionEvent;
  /** The customer's state before and after it. */
  readonly before: CustomerState;
  readonly after: CustomerState;
  /** How many events of its tie group were known. */
  readonly eventCount: number;
  /** The customer's events, by what they report. */
  readonly eventOf: ReadonlyMap<Reported, ParsedLoggedEvent<LoggedEvent>>;
};

/** Recomputes all decisions of a customer's log, by key. Pure. */
function recomputeDecisions(
  log: readonly ParsedLoggedEvent<LoggedEvent>[],
  planSelection: PlanSelection,
): ReadonlyMap<string, RecomputedDecision> {
  const known = new KnownEvents();
  const eventOf = new Map<Reported, ParsedLoggedEvent<LoggedEvent>>();
  const decisions = new Map<string, RecomputedDecision>();
  let before = NO_STATE;
  for (const logged of log) {
    const { event, parsed } = logged;
    eventOf.set(reportedBy(parsed), logged);
    const { state: after, outcome } = fold(before, parsed, known, planSelection);
    known.add(parsed);
    const eventCount = known.inSecondOf(parsed).length;
    decisions.set(event.key, { outcome, parsed, before, after, eventCount, eventOf });
    before = after;
  }
  return decisions;
}

export function whyUnreadable(event: EventRow): Reason {
  const again = parseAgain(event);
  return again?.kind === 'readable'
    ? { code: 'readable-now', position: event.position }
    : { code: 'unreadable', problem: again?.problem ?? null };
}

function whyParked({ customerId }: EventRow, { teams }: LogContext): Reason {
  return teams.length === 0
    ? { code: 'no-team', customerId }
    : { code: 'team-linked-since', teamIds: teams.map(({ id }) => id) };
}

function why(decision: RecomputedDecision, planSelection: PlanSelection): Reason {
  const deciding = selectedReport(decision.after, planSelection);
  switch (decision.outcome) {
    case 'applied':
      return whyApplied(decision, deciding, planSelection);
    case 'stale':
      return whyStale(decision, deciding);
    case 'unchanged':
    case 'duplicate': {
      const { status } = decision.parsed.subscription;
      return effectOf(status) === 'none' || deciding === null
        ? { code: 'status-without-effect', status }
        : { code: 'better-subscription', deciding: referenceTo(deciding, decision) };
    }
  }
}

/** `deciding`: what decides the plan now. */
function whyApplied(
  decision: RecomputedDecision,
  deciding: Reported | null,
  planSelection: PlanSelection,
): Reason {
  const { subscription, isSnapshot } = decision.parsed;
  if (deciding !== null && deciding !== reportedBy(decision.parsed)) {
    const reference = referenceTo(deciding, decision);
    return deciding.plan.providerSubscriptionId === subscription.subscriptionId
      ? { code: 'decided-order-of-tie-group', last: reference }
      : { code: 'no-longer-best', deciding: reference };
  }
  const decisive = planSelection === 'newest' ? 'newest-event' : 'best-subscription';
  return {
    code: isSnapshot ? 'shown-by-stripe' : decisive,
    status: subscription.status,
    effect: effectOf(subscription.status) === 'grants' ? 'grants' : 'clears',
  };
}

function whyStale(decision: RecomputedDecision, deciding: Reported | null): Reason {
  const { before, after, eventCount } = decision;
  const { subscription } = decision.parsed;
  const newerThanIt = (newer: Reported): Reason => ({
    code: 'newer-event',
    newer: referenceTo(newer, decision),
    isSameSubscription: newer.plan.providerSubscriptionId === subscription.subscriptionId,
    secondsLater: newer.createdSeconds - subscription.createdSeconds,
  });
  const known = before.subscriptions.get(subscription.subscriptionId)?.deciding?.reported;
  if (known !== undefined && known.createdSeconds > subscription.createdSeconds) {
    return newerThanIt(known);
  }
  const last = after.subscriptions.get(subscription.subscriptionId)?.deciding?.reported;
  if (last !== undefined && last !== reportedBy(decision.parsed)) {
    return { code: 'earlier-in-tie-group', last: referenceTo(last, decision), eventCount };
  }
  return deciding === null ? { code: 'no-longer-known' } : newerThanIt(deciding);
}

/** What limits the explanation. */
function remarks(
  decision: RecomputedDecision,
  { planSelection, prunedBeforeMs }: LogContext,
): Reason[] {
  const { parsed, before, after, eventCount, eventOf } = decision;
  const { subscriptionId, createdSeconds } = parsed.subscription;
  const reasons: Reason[] = [];
  const ofSubscription = after.subscriptions.get(subscriptionId)?.deciding;
  const isOfTieGroup = ofSubscription?.reported.createdSeconds === createdSeconds;
  if (ofSubscription?.isAmbiguous && isOfTieGroup) {
    reasons.push({ code: 'ambiguous-order', eventCount });
  }
  const decidingBefore = selectedReport(before, planSelection);
  const receivedAtMs = (decidingBefore && eventOf.get(decidingBefore)?.event.receivedAtMs) ?? 0;
  if (prunedBeforeMs !== null && receivedAtMs < prunedBeforeMs) {
    reasons.push({ code: 'earlier-events-pruned', prunedBeforeMs });
  }
  return reasons;
}

function referenceTo(reported: Reported, { eventOf }: RecomputedDecision): EventReference {
  const event = eventOf.get(reported)?.event;
  return {
    position: event?.position ?? null,
    eventId: event?.eventId ?? null,
    isSnapshot: event?.type === SNAPSHOT_TYPE,
    subscriptionId: reported.plan.providerSubscriptionId,
  };
}
