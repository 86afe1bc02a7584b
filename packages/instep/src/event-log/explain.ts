import type { ApplicationId } from '../core/application.ts';
import { type PlanSelection, selectedSubscription, teamPlan } from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { SubscriptionState } from '../core/subscription-event.ts';
import type { TeamPlan } from '../core/transition.ts';
import { parseAgain, SNAPSHOT_TYPE } from '../stripe/parse-event.ts';
import { type ReadableRow, type RecomputedDecision, recomputeDecisions } from './decisions.ts';
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

/** The decision on an event, and its reason. */
export type Explanation = {
  readonly reasons: readonly Reason[];
  /** The plan of the customer's teams before and after it; `null` where it is unknown. */
  readonly plans: { readonly before: TeamPlan | null; readonly after: TeamPlan | null } | null;
};

/** Returns an explanation of any event of a customer, recomputed from the customer's log. Pure. */
export function explainLog(
  log: readonly ReadableRow<EventRow>[],
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
        after: teamPlan(decision.step.decidingEvents, planSelection, names),
      },
    };
  };
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
  const { outcome } = decision.step;
  if (outcome === 'applied') return whyApplied(decision, planSelection);
  return outcome === 'stale'
    ? whyStale(decision, planSelection)
    : whyUnchanged(decision, planSelection);
}

function whyApplied(
  { parsed, step, rows }: RecomputedDecision,
  planSelection: PlanSelection,
): Reason {
  const own = parsed.subscription;
  const selected = selectedSubscription(step.decidingEvents, planSelection);
  if (selected !== null && selected !== own) {
    const reference = referenceTo(selected, rows);
    return selected.subscriptionId === own.subscriptionId
      ? { code: 'decided-order-of-tie-group', last: reference }
      : { code: 'no-longer-best', deciding: reference };
  }
  const decisive = planSelection === 'newest' ? 'newest-event' : 'best-subscription';
  return {
    code: parsed.isSnapshot ? 'shown-by-stripe' : decisive,
    status: own.status,
    effect: effectOf(own.status) === 'grants' ? 'grants' : 'clears',
  };
}

function whyStale(decision: RecomputedDecision, planSelection: PlanSelection): Reason {
  const { parsed, before, step, last, eventCount, isOnArrival, rows } = decision;
  const own = parsed.subscription;
  const newerThanOwn = (newer: SubscriptionState): Reason => ({
    code: 'newer-event',
    newer: referenceTo(newer, rows),
    isSameSubscription: newer.subscriptionId === own.subscriptionId,
    secondsLater: newer.createdSeconds - own.createdSeconds,
    isLaterArrival: !isOnArrival,
  });
  const known = before.get(own.subscriptionId)?.subscription;
  if (known !== undefined && known.createdSeconds > own.createdSeconds) return newerThanOwn(known);
  if (last !== null && last !== own) {
    return { code: 'earlier-in-tie-group', last: referenceTo(last, rows), eventCount };
  }
  const selected = selectedSubscription(step.decidingEvents, planSelection);
  return selected === null ? { code: 'no-longer-known' } : newerThanOwn(selected);
}

function whyUnchanged(
  { parsed, step, rows }: RecomputedDecision,
  planSelection: PlanSelection,
): Reason {
  const { status } = parsed.subscription;
  const selected = selectedSubscription(step.decidingEvents, planSelection);
  return effectOf(status) === 'none' || selected === null
    ? { code: 'status-without-effect', status }
    : { code: 'better-subscription', deciding: referenceTo(selected, rows) };
}

function remarks(
  decision: RecomputedDecision,
  { planSelection, prunedBeforeMs }: LogContext,
): Reason[] {
  const { parsed, before, step, eventCount, isOnArrival, rows } = decision;
  const { subscriptionId, createdSeconds } = parsed.subscription;
  const reasons: Reason[] = [];
  const deciding = step.decidingEvents.get(subscriptionId);
  if (deciding?.order === 'ambiguous' && deciding.subscription.createdSeconds === createdSeconds) {
    reasons.push({ code: 'ambiguous-order', eventCount });
  }
  if (!isOnArrival) {
    reasons.push({ code: 'decided-later', isMaybePruned: prunedBeforeMs !== null });
  }
  const selected = selectedSubscription(before, planSelection);
  const row = selected === null ? undefined : rows.get(selected);
  if (prunedBeforeMs !== null && (row === undefined || row.receivedAtMs < prunedBeforeMs)) {
    reasons.push({ code: 'earlier-events-pruned', prunedBeforeMs });
  }
  return reasons;
}

function referenceTo(
  subscription: SubscriptionState,
  rows: RecomputedDecision['rows'],
): EventReference {
  const row = rows.get(subscription);
  return {
    position: row?.position ?? null,
    eventId: row?.eventId ?? null,
    isSnapshot: row?.type === SNAPSHOT_TYPE,
    subscriptionId: subscription.subscriptionId,
  };
}
