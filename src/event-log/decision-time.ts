import { type Customer, UNKNOWN_CUSTOMER } from '../core/customer.ts';
import { follow, type Step } from '../core/follow.ts';
import type { LoggedEvent } from '../core/logged-event.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { SubscriptionChange, SubscriptionEvent } from '../core/subscription-event.ts';
import { SameSecondEvents } from '../ingest/same-second-events.ts';
import { changeOf } from '../stripe/logged-event.ts';

/** When an event was decided on, as the log tells it again. */
export type Moment = {
  readonly event: SubscriptionChange;
  /** What was known of the customer before the event. */
  readonly before: Customer;
  readonly step: Step;
  /** All events of its subscription and second that were there, itself among them. */
  readonly second: readonly SubscriptionChange[];
  /** Not later than it arrived. What was parked was decided on when a team had its customer. */
  readonly isOnArrival: boolean;
  /** Where the events come from of which the customer's state is made. */
  readonly rows: ReadonlyMap<SubscriptionEvent, LoggedEvent>;
};

/**
 * Folds the log of a customer until the rule says of this event what was decided: when it arrived
 * or, if it was parked, some time after. `null` when it never does. Pure.
 */
export function momentOfDecision(
  log: readonly LoggedEvent[],
  decided: LoggedEvent,
  planSelection: PlanSelection,
): Moment | null {
  const seconds = new SameSecondEvents([]);
  const rows = new Map<SubscriptionEvent, LoggedEvent>();
  let event: SubscriptionChange | null = null;
  let before = UNKNOWN_CUSTOMER;
  for (const row of log) {
    const caused = changeOf(row);
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
  log: readonly LoggedEvent[],
  planSelection: PlanSelection,
): ReadonlyMap<string, Moment> {
  const seconds = new SameSecondEvents([]);
  const rows = new Map<SubscriptionEvent, LoggedEvent>();
  const moments = new Map<string, Moment>();
  let customer = UNKNOWN_CUSTOMER;
  let open: { readonly row: LoggedEvent; readonly event: SubscriptionChange }[] = [];
  for (const row of log) {
    const caused = changeOf(row);
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

function causesOf(entries: ReturnType<SameSecondEvents['of']>): SubscriptionChange[] {
  return entries.map(({ change }) => change);
}
