import { EventHistory } from '../core/event-history.ts';
import { decideEvent, type EventDecision } from '../core/ordering-rule.ts';
import {
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  type PlanSelection,
} from '../core/plan-selection.ts';
import type { LoggedEvent, ParsedEvent, SubscriptionState } from '../core/subscription-event.ts';
import { lastEventWithEffect } from '../core/tie-group.ts';
import { parseLogged } from '../stripe/parse-event.ts';

/** A logged event and what its body says about a subscription. */
export type ReadableRow<Row extends LoggedEvent> = {
  readonly event: Row;
  readonly parsed: ParsedEvent;
};

/** Parses the body of each event once, and drops those that can't be read. */
export function parseLog<Row extends LoggedEvent>(log: readonly Row[]): ReadableRow<Row>[] {
  return log.flatMap((event) => {
    const parsed = parseLogged(event);
    return parsed === null ? [] : [{ event, parsed }];
  });
}

/** How the decision on an event was made, recomputed from the log. */
export type RecomputedDecision = {
  readonly parsed: ParsedEvent;
  /** The customer's deciding events before it. */
  readonly before: DecidingEvents;
  readonly step: EventDecision;
  /** How many events of its tie group were known, and which of them came last. */
  readonly eventCount: number;
  readonly last: SubscriptionState | null;
  /** A parked event was decided later, when a team had its customer. */
  readonly isOnArrival: boolean;
  /** The customer's logged events, by what they report. */
  readonly rows: ReadonlyMap<SubscriptionState, LoggedEvent>;
};

/**
 * Recomputes all decisions of a customer's log, by key. An event counts as decided as soon as the
 * ordering rule yields its logged outcome, and has no effect before. An event for which it never
 * does is left out. Pure.
 */
export function recomputeDecisions(
  log: readonly ReadableRow<LoggedEvent>[],
  planSelection: PlanSelection,
): ReadonlyMap<string, RecomputedDecision> {
  const history = new EventHistory();
  const rows = new Map<SubscriptionState, LoggedEvent>();
  const decisions = new Map<string, RecomputedDecision>();
  let decidingEvents = NO_DECIDING_EVENTS;
  let undecided: ReadableRow<LoggedEvent>[] = [];
  for (const arrival of log) {
    rows.set(arrival.parsed.subscription, arrival.event);
    history.add(arrival.parsed);
    undecided = [arrival, ...undecided].filter(({ event, parsed }) => {
      const before = decidingEvents;
      const step = decideEvent(before, parsed, history, planSelection);
      if (step.outcome !== event.outcome) return true;
      const tieGroup = history.tieGroupOf(parsed.subscription);
      const last = lastEventWithEffect(tieGroup)?.subscription ?? null;
      const eventCount = tieGroup.events.length;
      const isOnArrival = event === arrival.event;
      decisions.set(event.key, { parsed, before, step, eventCount, last, isOnArrival, rows });
      decidingEvents = step.decidingEvents;
      return false;
    });
  }
  return decisions;
}
