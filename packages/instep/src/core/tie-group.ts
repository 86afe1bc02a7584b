// Puts the events of one subscription in one second in order. ordering-rule.ts asks for the last one with an effect,
// latest-state.ts for the last one of all.

import type { TieGroup } from './event-history.ts';
import { isList, type Json, member } from './json.ts';
import { effectOf } from './status.ts';
import { isSameState, type ParsedEvent, type SubscriptionState } from './subscription-event.ts';
import { isSamePlan, planAfter } from './transition.ts';

/** A subscription's newest event with an effect: the last one of its newest tie group that has one. */
export type DecidingEvent = {
  readonly subscription: SubscriptionState;
  /** `known` from the events of its tie group or a snapshot; `ambiguous` until Stripe was asked. */
  readonly order: 'known' | 'ambiguous';
};

/** Whether the same event decides, for the same reason. */
export function isSameDecidingEvent(a: DecidingEvent, b: DecidingEvent | undefined): boolean {
  return isSameState(a.subscription, b?.subscription ?? null) && a.order === b?.order;
}

type Events = readonly ParsedEvent[];

/** More events than this in a tie group are not put in order. */
const MAX_ORDERED = 30;

/** Limits all searches for one last event together, when the events give little evidence. */
const MAX_STEPS = 10_000;

/** The steps of a search that are left. Without any, it is given up: no order is found. */
type Budget = { steps: number };

const budgetOf = ({ isGivenUp }: TieGroup['search']): Budget => ({
  steps: isGivenUp ? 0 : MAX_STEPS,
});

const isUsedUp = ({ steps }: Budget) => steps <= 0;

/**
 * Puts the events of a tie group in order (docs/contract.md, section 6, ordering rule 3) and returns the last one with an
 * effect; `null`: none has one.
 * An event comes after the one whose values it replaced. If several orders are possible and differ for the
 * team, as in a cycle from active to unpaid and back, the last arrival counts, and the order is ambiguous until a
 * snapshot shows it.
 *
 * @example
 * Three events of one second arrive as C, A, B. In brackets is what they replaced:
 * A: active (incomplete), B: unpaid (active), C: active (unpaid). Only B fits after A, and only C after B, so C decides.
 * Without A, both B C and C B are possible, so the order is ambiguous.
 */
export function lastEventWithEffect(group: TieGroup): DecidingEvent | null {
  const { events, lastUndated, search } = group;
  if (lastUndated !== null) return { subscription: lastUndated, order: 'known' };
  const withEffect = events
    .map(({ subscription }) => subscription)
    .filter((subscription) => planAfter(subscription) !== null);
  const lastArrival = withEffect.at(-1);
  if (lastArrival === undefined) return null;
  const isOnePlan = withEffect.every((event) => isSamePlanAfter(event, lastArrival));
  if (isOnePlan) return { subscription: lastArrival, order: certaintyOfStatus(group) };

  const snapshot = events.findLast((event) => isCompleteSnapshot(event, events));
  if (snapshot !== undefined && planAfter(snapshot.subscription) !== null) {
    return { subscription: snapshot.subscription, order: 'known' };
  }
  const budget = budgetOf(search);
  const possible = possibleOrders(withoutSnapshots(events), budget);
  const last = lastIfSamePlan(possible);
  if (last !== null) return { subscription: last, order: 'known' };

  // Every further event would only make the search longer, so a decision searches once.
  if (isUsedUp(budget)) search.isGivenUp = true;
  if (snapshot === undefined) return { subscription: lastArrival, order: 'ambiguous' };
  const shown = lastShownBy(snapshot, possible, changedMembers(events));
  return { subscription: shown ?? preferred(withEffect), order: 'known' };
}

/**
 * The event that decides where not even Stripe's answer shows the order, whatever the order of arrival: one that grants
 * a plan, if there is one, so that nobody who has paid loses it.
 */
function preferred(withEffect: readonly SubscriptionState[]): SubscriptionState {
  const granting = withEffect.filter(({ status }) => effectOf(status) === 'grants');
  const candidates = granting.length > 0 ? granting : withEffect;
  const rank = ({ status, productId, planName }: SubscriptionState) =>
    JSON.stringify([status, productId, planName]);
  return candidates.reduce((first, other) => (rank(other) < rank(first) ? other : first));
}

/** Whether the last status of a tie group is known, where all its events with an effect lead to the same plan. */
function certaintyOfStatus(group: TieGroup): DecidingEvent['order'] {
  const { events } = group;
  if (hasOneStatus(events) || events.some((event) => isCompleteSnapshot(event, events))) {
    return 'known';
  }
  const { orders, isLastKnown } = ordersOf(group);
  if (isLastKnown) return 'known';
  return new Set(orders.map(({ last }) => last.subscription.status)).size === 1
    ? 'known'
    : 'ambiguous';
}

const hasOneStatus = (events: Events) =>
  new Set(events.map(({ subscription }) => subscription.status)).size === 1;

/** The possible orders of a tie group, and whether all of them have the same last event. */
function ordersOf({ events, search }: TieGroup) {
  const budget = budgetOf(search);
  const orders = possibleOrders(withoutSnapshots(events), budget);
  if (isUsedUp(budget)) search.isGivenUp = true;
  return { orders, isLastKnown: new Set(orders.map(({ last }) => last)).size === 1 };
}

/** The last event of a tie group, whatever its status. */
type LastEvent = {
  readonly event: ParsedEvent;
  /** Whether the group's own events or a snapshot show it. */
  readonly isKnown: boolean;
};

/**
 * Returns the last event of a tie group: the deciding event, or one without an effect after it. If several are
 * possible, the choice does not depend on their arrival.
 */
export function lastEventOf(group: TieGroup, deciding: SubscriptionState | null): LastEvent {
  const { events } = group;
  const snapshot = events.findLast((event) => isCompleteSnapshot(event, events));
  if (snapshot !== undefined) return { event: snapshot, isKnown: true };
  const { orders, isLastKnown } = ordersOf(group);

  const isInGroup = events[0]?.subscription.createdSeconds === deciding?.createdSeconds;
  // If the deciding event is in another group, no event of this one has an effect.
  const decidingHere = isInGroup ? deciding : null;
  const lastOf = (orders: readonly EventOrder[]) => orders.map(({ last }) => last);
  // The first of these that is not empty has the last event.
  const possible = [
    lastOf(orders.filter(({ lastWithEffect }) => isSameState(lastWithEffect, decidingHere))),
    // No order is possible in which that event decides: another one decided, such as a snapshot or the last arrival.
    events.filter(({ subscription }) => isSameState(subscription, decidingHere)),
    // It is not in the history any more.
    lastOf(orders),
    events,
  ];
  const [event] = (possible.find(({ length }) => length > 0) ?? events).toSorted(byKey);
  if (event === undefined) throw new RangeError('a tie group has an event');
  return { event, isKnown: isLastKnown };
}

function byKey(a: ParsedEvent, b: ParsedEvent): number {
  return a.key < b.key ? -1 : 1;
}

/** An event that arrived after the snapshot was requested may be missing from it. */
function isCompleteSnapshot({ isSnapshot, seenKeys }: ParsedEvent, events: Events): boolean {
  if (!isSnapshot || seenKeys === null) return isSnapshot;
  return withoutSnapshots(events).every(({ key }) => seenKeys.has(key));
}

function withoutSnapshots(events: Events): ParsedEvent[] {
  return events.filter(({ isSnapshot }) => !isSnapshot);
}

/**
 * The last event that left the subscription as a snapshot without an effect shows it: in all members that
 * changed, or in all but the status, which may have changed afterward.
 */
function lastShownBy(
  snapshot: ParsedEvent,
  possible: readonly EventOrder[],
  changed: readonly string[],
): SubscriptionState | null {
  const asShown = (names: readonly string[]) =>
    lastIfSamePlan(
      possible.filter(({ last }) =>
        names.every((name) =>
          isSameValue(member(snapshot.object, name), member(last.object, name)),
        ),
      ),
    );
  return asShown(changed) ?? asShown(changed.filter((name) => name !== 'status'));
}

/** Some or all of the events in an order in which each fits the one before it. */
type EventOrder = {
  readonly last: ParsedEvent;
  readonly lastWithEffect: SubscriptionState | null;
  /** The events that have no place in it yet: a bit for each. */
  readonly unplaced: number;
  /** The events that can come next: a bit for each. */
  readonly successors: number;
};

/**
 * The last event with an effect, if all these orders mean the same for the team; `null`: they differ, there is none, or no
 * event has an effect.
 */
function lastIfSamePlan(orders: readonly EventOrder[]): SubscriptionState | null {
  const first = orders[0]?.lastWithEffect ?? null;
  const isOnePlan = orders.every(({ lastWithEffect }) => isSamePlanAfter(lastWithEffect, first));
  return isOnePlan ? first : null;
}

/** The possible orders of all the events: one for each last event, and last event with an effect. */
function possibleOrders(events: Events, budget: Budget): EventOrder[] {
  if (events.length > MAX_ORDERED || isUsedUp(budget)) return [];
  const names = changedMembers(events);
  const candidates = events.map((event, index) => ({
    event,
    bit: 1 << index,
    successors: bitsWhere(events, (next) => canFollow(next, event, names)),
  }));
  const orders = new Map<string, EventOrder>();

  function extend({ lastWithEffect, unplaced, successors }: Omit<EventOrder, 'last'>): void {
    for (const candidate of candidates) {
      if ((unplaced & successors & candidate.bit) === 0) continue;
      budget.steps -= 1;
      const { subscription } = candidate.event;
      const longer = {
        last: candidate.event,
        lastWithEffect: planAfter(subscription) === null ? lastWithEffect : subscription,
        unplaced: unplaced & ~candidate.bit,
        successors: candidate.successors,
      };
      // Two orders of the same events with these ends can be continued in the same ways, so one of them is enough.
      const index = events.findIndex((event) => event.subscription === longer.lastWithEffect);
      orders.set(`${longer.unplaced} ${candidate.bit} ${index}`, longer);
    }
  }

  const all = bitsWhere(events, () => true);
  extend({ lastWithEffect: null, unplaced: all, successors: all });
  // A map's loop also visits the orders that it adds, until all events have a place.
  for (const order of orders.values()) {
    if (isUsedUp(budget)) return [];
    extend(order);
  }
  return [...orders.values()].filter(({ unplaced }) => unplaced === 0);
}

/** A number with a bit for each of the events that match. */
function bitsWhere(events: Events, isMatch: (event: ParsedEvent) => boolean): number {
  return events.reduce((bits, event, index) => (isMatch(event) ? bits | (1 << index) : bits), 0);
}

/** The names of members that changed: at least one event says what it replaced there. */
function changedMembers(events: Events): readonly string[] {
  const replaced = events.flatMap((event) => Object.keys(event.previousAttributes ?? {}));
  return [...new Set(['status', ...replaced])];
}

/**
 * Whether one event can be the next after another: it replaced what the other left, and kept what it
 * does not name. A deletion that names nothing can follow any event; another event that names nothing
 * can only be the first.
 */
function canFollow(
  { object, previousAttributes, isDeletion }: ParsedEvent,
  previous: ParsedEvent,
  names: readonly string[],
): boolean {
  if (previousAttributes === null) return isDeletion;
  return (
    contains(previous.object, previousAttributes) &&
    names.every(
      (name) =>
        Object.hasOwn(previousAttributes, name) ||
        isSameValue(member(previous.object, name), member(object, name)),
    )
  );
}

/** Whether two values are the same; a missing one counts as null. */
function isSameValue(a: Json | undefined, b: Json | undefined): boolean {
  return contains(a, b ?? null) && contains(b, a ?? null);
}

/** Deeper than Stripe nests anything; deeper values are no evidence. */
const MAX_DEPTH = 32;

/**
 * Whether a subscription has the values that an event replaced. Lists must have the same length,
 * objects can have more members, and a missing member counts as null.
 */
function contains(value: Json | undefined, part: Json, depth = 0): boolean {
  if (typeof part !== 'object' || part === null) return (value ?? null) === part;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  if (isList(part)) {
    if (!isList(value) || value.length !== part.length) return false;
    return part.every((element, index) => contains(value[index], element, depth + 1));
  }
  if (isList(value)) return false;
  return Object.keys(part).every((name) =>
    contains(member(value, name), member(part, name) ?? null, depth + 1),
  );
}

/** Whether two events mean the same for the team. */
function isSamePlanAfter(a: SubscriptionState | null, b: SubscriptionState | null): boolean {
  return isSamePlan(a && planAfter(a), b && planAfter(b));
}
