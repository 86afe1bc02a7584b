// Recomputes the decisions on a customer's events, and says as codes why each was made. operate/explain.ts calls it for a
// team's timeline and an event's page; reason-text.ts puts the codes into words.

import { type EventRow, parseAgain, parseLogged } from 'instep-engine/log';
import type { ApplicationId } from 'instep-engine/postgres';
import {
  type CustomerState,
  effectOf,
  fold,
  KnownEvents,
  NO_STATE,
  type Outcome,
  type PlanSelection,
  type Reported,
  reportedBy,
  type SubscriptionEvent,
  selectedReport,
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
  /** Another event decides, because it is newer, the last of its second, or of a better subscription. */
  | {
      readonly code: 'newer-event' | 'last-of-second' | 'better-subscription';
      readonly deciding: EventReference;
      readonly secondsLater: number;
    }
  | { readonly code: 'status-without-effect'; readonly status: string }
  | { readonly code: 'ambiguous-order'; readonly eventCount: number }
  | { readonly code: 'earlier-events-pruned'; readonly prunedBeforeMs: number };

/** What the tables say about a customer, besides its events. */
export type LogContext = {
  readonly planSelection: PlanSelection;
  /** The teams that have the customer now. */
  readonly teamIds: readonly ApplicationId[];
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/** Returns the reasons of any event of a customer, recomputed from the customer's log. Pure. */
export function explainLog(
  log: readonly EventRow[],
  context: LogContext,
): (event: EventRow) => readonly Reason[] {
  const decisions = recomputeDecisions(log, context.planSelection);
  return (event) => {
    if (event.outcome === 'unreadable') return [whyUnreadable(event)];
    if (event.outcome === 'parked') return [whyParked(event, context)];
    const decision = decisions.get(event.key);
    if (decision?.outcome !== event.outcome) return [{ code: 'no-longer-known' }];
    return [why(decision, context.planSelection), ...remarks(decision, context)];
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
  readonly eventOf: ReadonlyMap<Reported, EventRow>;
};

/** Recomputes all decisions of a customer's log, by key. Pure. */
function recomputeDecisions(
  log: readonly EventRow[],
  planSelection: PlanSelection,
): ReadonlyMap<string, RecomputedDecision> {
  const known = new KnownEvents();
  const eventOf = new Map<Reported, EventRow>();
  const decisions = new Map<string, RecomputedDecision>();
  let before = NO_STATE;
  for (const event of log) {
    const parsed = parseLogged(event);
    if (parsed === null) continue;
    eventOf.set(reportedBy(parsed), event);
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

function whyParked({ customerId }: EventRow, { teamIds }: LogContext): Reason {
  return teamIds.length === 0
    ? { code: 'no-team', customerId }
    : { code: 'team-linked-since', teamIds };
}

function why(decision: RecomputedDecision, planSelection: PlanSelection): Reason {
  const { parsed, after } = decision;
  const { subscriptionId, status, createdSeconds } = parsed.subscription;
  const own = reportedBy(parsed);
  const effect = effectOf(status);
  if (effect === 'none') return { code: 'status-without-effect', status };
  const ofSubscription = after.subscriptions.get(subscriptionId)?.deciding?.reported ?? own;
  const deciding = ofSubscription === own ? selectedReport(after, planSelection) : ofSubscription;
  if (deciding === null) return { code: 'no-longer-known' };
  if (deciding === own) {
    const decisive = planSelection === 'newest' ? 'newest-event' : 'best-subscription';
    return { code: parsed.isSnapshot ? 'shown-by-stripe' : decisive, status, effect };
  }
  const isSame = deciding.plan.providerSubscriptionId === subscriptionId;
  const secondsLater = deciding.createdSeconds - createdSeconds;
  const otherwise = isSame || planSelection === 'newest' ? 'newer-event' : 'better-subscription';
  const code = isSame && secondsLater === 0 ? 'last-of-second' : otherwise;
  return { code, deciding: referenceTo(deciding, decision), secondsLater };
}

/** What limits the explanation. */
function* remarks(
  { parsed, before, after, eventCount, eventOf }: RecomputedDecision,
  { planSelection, prunedBeforeMs }: LogContext,
): Generator<Reason> {
  const { subscriptionId, createdSeconds } = parsed.subscription;
  const ofSubscription = after.subscriptions.get(subscriptionId)?.deciding;
  if (ofSubscription?.isAmbiguous && ofSubscription.reported.createdSeconds === createdSeconds) {
    yield { code: 'ambiguous-order', eventCount };
  }
  const decidingBefore = selectedReport(before, planSelection);
  const receivedAtMs = (decidingBefore && eventOf.get(decidingBefore)?.receivedAtMs) ?? 0;
  if (prunedBeforeMs !== null && receivedAtMs < prunedBeforeMs) {
    yield { code: 'earlier-events-pruned', prunedBeforeMs };
  }
}

function referenceTo(reported: Reported, { eventOf }: RecomputedDecision): EventReference {
  const event = eventOf.get(reported);
  return {
    position: event?.position ?? null,
    eventId: event?.eventId ?? null,
    isSnapshot: event?.type === SNAPSHOT_TYPE,
    subscriptionId: reported.plan.providerSubscriptionId,
  };
}
