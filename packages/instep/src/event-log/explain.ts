// Recomputes the decisions on a customer's events, and says as codes why each was made. operate/ calls it for a
// team's history and an event's page; reason-text.ts puts the codes into words.

import type { ApplicationId } from '../core/application.ts';
import { EventHistory } from '../core/event-history.ts';
import { decideEvent, type EventDecision } from '../core/ordering-rule.ts';
import {
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  type PlanSelection,
  selectedSubscription,
  teamPlan,
} from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { LoggedEvent, ParsedEvent, SubscriptionState } from '../core/subscription-event.ts';
import { lastEventWithEffect } from '../core/tie-group.ts';
import type { TeamPlan } from '../core/transition.ts';
import { parseAgain, parseLogged, SNAPSHOT_TYPE } from '../stripe/parse-event.ts';
import type { EventRow } from './event-rows.ts';

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
      /** Whether the newer event arrived after this one. */
      readonly isLaterArrival: boolean;
    }
  | {
      readonly code: 'earlier-in-tie-group';
      readonly last: EventReference;
      readonly eventCount: number;
    }
  | { readonly code: 'status-without-effect'; readonly status: string }
  | { readonly code: 'better-subscription'; readonly deciding: EventReference }
  | { readonly code: 'ambiguous-order'; readonly eventCount: number }
  | { readonly code: 'decided-later'; readonly isMaybePruned: boolean }
  | { readonly code: 'earlier-events-pruned'; readonly prunedBeforeMs: number };

/** A logged event and what its body says about a subscription. */
export type ParsedLoggedEvent<Event extends LoggedEvent> = {
  readonly event: Event;
  readonly parsed: ParsedEvent;
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
  readonly teamIds: readonly ApplicationId[];
  /** The names of products, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/** A team's plan before and after something; `null` where it is not known. */
export type PlanStep = { readonly before: TeamPlan | null; readonly after: TeamPlan | null };

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
  const decided = log.filter(({ event }) => event.outcome !== 'parked');
  const decisions = recomputeDecisions(decided, context.planSelection);
  return (event) => {
    if (event.outcome === 'unreadable') return { reasons: [whyUnreadable(event)], plans: null };
    if (event.outcome === 'parked') return { reasons: [whyParked(event, context)], plans: null };
    const decision = decisions.get(event.key);
    if (decision === undefined) return { reasons: [{ code: 'no-longer-known' }], plans: null };
    const { planSelection, names } = context;
    return {
      reasons: [why(decision, planSelection), ...remarks(decision, context)],
      plans: {
        before: teamPlan(decision.before, planSelection, names),
        after: teamPlan(decision.decidingEvents, planSelection, names),
      },
    };
  };
}

/** A decision that was recomputed from the log, and what was known then. */
type RecomputedDecision = EventDecision & {
  readonly parsed: ParsedEvent;
  /** The customer's deciding events before it. */
  readonly before: DecidingEvents;
  /** How many events of its tie group were known, and which of them came last. */
  readonly eventCount: number;
  readonly lastOfTieGroup: SubscriptionState | null;
  /** A parked event was decided later, when a team had its customer. */
  readonly isOnArrival: boolean;
  /** The customer's events, by what they report. */
  readonly eventOf: ReadonlyMap<SubscriptionState, LoggedEvent>;
};

/**
 * Recomputes all decisions of a customer's log, by key. An event counts as decided as soon as the
 * ordering rule yields its logged outcome, and has no effect before. An event for which it never
 * does is left out. Pure.
 */
function recomputeDecisions(
  log: readonly ParsedLoggedEvent<LoggedEvent>[],
  planSelection: PlanSelection,
): ReadonlyMap<string, RecomputedDecision> {
  const history = new EventHistory();
  const eventOf = new Map<SubscriptionState, LoggedEvent>();
  const decisions = new Map<string, RecomputedDecision>();
  let decidingEvents = NO_DECIDING_EVENTS;
  let undecided: ParsedLoggedEvent<LoggedEvent>[] = [];
  for (const arrival of log) {
    eventOf.set(arrival.parsed.subscription, arrival.event);
    history.add(arrival.parsed);
    undecided = [arrival, ...undecided].filter(({ event, parsed }) => {
      const before = decidingEvents;
      const decision = decideEvent(before, parsed, history, planSelection);
      if (decision.outcome !== event.outcome) return true;
      const tieGroup = history.tieGroupOf(parsed.subscription);
      decisions.set(event.key, {
        ...{ ...decision, parsed, before, eventOf },
        eventCount: tieGroup.events.length,
        lastOfTieGroup: lastEventWithEffect(tieGroup)?.subscription ?? null,
        isOnArrival: event === arrival.event,
      });
      decidingEvents = decision.decidingEvents;
      return false;
    });
  }
  return decisions;
}

export function whyUnreadable(event: EventRow): Reason {
  const again = parseAgain(event);
  return again?.kind === 'readable'
    ? { code: 'readable-now', position: event.position }
    : { code: 'unreadable', problem: again?.problem ?? null };
}

function whyParked({ customerId }: EventRow, { teamIds }: LogContext): Reason {
  return teamIds.length === 0
    ? { code: 'no-team', customerId }
    : { code: 'team-linked-since', teamIds };
}

function why(decision: RecomputedDecision, planSelection: PlanSelection): Reason {
  const deciding = selectedSubscription(decision.decidingEvents, planSelection);
  switch (decision.outcome) {
    case 'applied':
      return whyApplied(decision, deciding, planSelection);
    case 'stale':
      return whyStale(decision, deciding);
    case 'unchanged': {
      const { status } = decision.parsed.subscription;
      return effectOf(status) === 'none' || deciding === null
        ? { code: 'status-without-effect', status }
        : { code: 'better-subscription', deciding: referenceTo(deciding, decision) };
    }
  }
}

/** `deciding`: the subscription that decides the plan now. */
function whyApplied(
  decision: RecomputedDecision,
  deciding: SubscriptionState | null,
  planSelection: PlanSelection,
): Reason {
  const { subscription, isSnapshot } = decision.parsed;
  if (deciding !== null && deciding !== subscription) {
    const reference = referenceTo(deciding, decision);
    return deciding.subscriptionId === subscription.subscriptionId
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

function whyStale(decision: RecomputedDecision, deciding: SubscriptionState | null): Reason {
  const { before, lastOfTieGroup, eventCount, isOnArrival } = decision;
  const { subscription } = decision.parsed;
  const newerThanIt = (newer: SubscriptionState): Reason => ({
    code: 'newer-event',
    newer: referenceTo(newer, decision),
    isSameSubscription: newer.subscriptionId === subscription.subscriptionId,
    secondsLater: newer.createdSeconds - subscription.createdSeconds,
    isLaterArrival: !isOnArrival,
  });
  const known = before.get(subscription.subscriptionId)?.subscription;
  if (known !== undefined && known.createdSeconds > subscription.createdSeconds) {
    return newerThanIt(known);
  }
  if (lastOfTieGroup !== null && lastOfTieGroup !== subscription) {
    const last = referenceTo(lastOfTieGroup, decision);
    return { code: 'earlier-in-tie-group', last, eventCount };
  }
  return deciding === null ? { code: 'no-longer-known' } : newerThanIt(deciding);
}

/** What limits the explanation. */
function remarks(
  decision: RecomputedDecision,
  { planSelection, prunedBeforeMs }: LogContext,
): Reason[] {
  const { parsed, before, decidingEvents, eventCount, isOnArrival, eventOf } = decision;
  const { subscriptionId, createdSeconds } = parsed.subscription;
  const reasons: Reason[] = [];
  const ofSubscription = decidingEvents.get(subscriptionId);
  const isOfTieGroup = ofSubscription?.subscription.createdSeconds === createdSeconds;
  if (ofSubscription?.order === 'ambiguous' && isOfTieGroup) {
    reasons.push({ code: 'ambiguous-order', eventCount });
  }
  if (!isOnArrival) {
    reasons.push({ code: 'decided-later', isMaybePruned: prunedBeforeMs !== null });
  }
  const decidingBefore = selectedSubscription(before, planSelection);
  const receivedAtMs = (decidingBefore && eventOf.get(decidingBefore)?.receivedAtMs) ?? 0;
  if (prunedBeforeMs !== null && receivedAtMs < prunedBeforeMs) {
    reasons.push({ code: 'earlier-events-pruned', prunedBeforeMs });
  }
  return reasons;
}

function referenceTo(
  subscription: SubscriptionState,
  { eventOf }: RecomputedDecision,
): EventReference {
  const event = eventOf.get(subscription);
  return {
    position: event?.position ?? null,
    eventId: event?.eventId ?? null,
    isSnapshot: event?.type === SNAPSHOT_TYPE,
    subscriptionId: subscription.subscriptionId,
  };
}
