import { type Customer, UNKNOWN_CUSTOMER } from '../core/customer.ts';
import { follow, type Step } from '../core/follow.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { CausedEvent } from '../core/same-second-order.ts';
import type { SubscriptionEvent } from '../core/subscription-event.ts';
import { SameSecondEvents } from '../ingest/same-second-events.ts';
import type { LogRow } from '../queries/events.ts';
import { causedEventOf } from '../stripe/logged-event.ts';

/** When an event was decided on, as the log tells it again. */
export type Moment = {
  readonly event: CausedEvent;
  /** What was known of the customer before the event. */
  readonly before: Customer;
  readonly step: Step;
  /** All events of its subscription and second that were there, itself among them. */
  readonly second: readonly CausedEvent[];
  /** Not later than it arrived. What was parked was decided on when a team had its customer. */
  readonly isOnArrival: boolean;
  /** Where the events come from of which the customer's state is made. */
  readonly rows: ReadonlyMap<SubscriptionEvent, LogRow>;
};

/**
 * Folds the log of a customer until the rule says of this event what was decided: when it arrived
 * or, if it was parked, some time after. `null` when it never does. Pure.
 */
export function momentOfDecision(
  log: readonly LogRow[],
  decided: LogRow,
  planSelection: PlanSelection,
): Moment | null {
  const seconds = new SameSecondEvents([]);
  const rows = new Map<SubscriptionEvent, LogRow>();
  let event: CausedEvent | null = null;
  let before = UNKNOWN_CUSTOMER;
  for (const row of log) {
    const caused = causedEventOf(row);
    if (caused === null) continue;
    rows.set(caused.subscription, row);
    const entries = seconds.with({ ...caused, key: row.key });
    if (row.key === decided.key) event = caused;
    else before = follow(before, caused, causesOf(entries), planSelection).customer;
    if (event === null) continue;

    const second = causesOf(seconds.of(event.subscription));
    const step = follow(before, event, second, planSelection);
    if (step.verdict !== decided.outcome) continue;
    return { event, before, step, second, isOnArrival: row.key === decided.key, rows };
  }
  return null;
}

/**
 * The same for all events of a log at once: each is decided on when the rule first says of it what
 * was decided, and does nothing before. Those of which it never does are not among them. Pure.
 */
export function momentsOfDecisions(
  log: readonly LogRow[],
  planSelection: PlanSelection,
): ReadonlyMap<string, Moment> {
  const seconds = new SameSecondEvents([]);
  const rows = new Map<SubscriptionEvent, LogRow>();
  const moments = new Map<string, Moment>();
  let customer = UNKNOWN_CUSTOMER;
  let open: { readonly row: LogRow; readonly event: CausedEvent }[] = [];
  for (const row of log) {
    const caused = causedEventOf(row);
    if (caused === null) continue;
    rows.set(caused.subscription, row);
    seconds.with({ ...caused, key: row.key });
    // What arrives comes first; then what has waited may have its turn.
    open = [{ row, event: caused }, ...open].filter(({ row: { key, outcome }, event }) => {
      const second = causesOf(seconds.of(event.subscription));
      const before = customer;
      const step = follow(before, event, second, planSelection);
      if (step.verdict !== outcome) return true;
      moments.set(key, { event, before, step, second, isOnArrival: key === row.key, rows });
      customer = step.customer;
      return false;
    });
  }
  return moments;
}

function causesOf(entries: ReturnType<SameSecondEvents['of']>): CausedEvent[] {
  return entries.map(({ caused }) => caused);
}
