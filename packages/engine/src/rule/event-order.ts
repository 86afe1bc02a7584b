// Which orders are possible for the events of a tie group: each must be able to follow the one before it. tie-group.ts
// chooses among them.

import type { SubscriptionEvent } from './event.ts';
import { isList, type Json, member } from './json.ts';
import { planAfter } from './plan.ts';
import { reportedBy } from './reported.ts';

type Events = readonly SubscriptionEvent[];

/** More events than this in a tie group are not put in order. */
const MAX_ORDERED = 30;

/** Limits a search when the events give little evidence. */
const MAX_STEPS = 10_000;

/** Some or all of the events in an order in which each fits the one before it. */
export type EventOrder = {
  readonly last: SubscriptionEvent;
  readonly lastWithEffect: SubscriptionEvent | null;
  /** The events that have no place in it yet: a bit for each. */
  readonly unplaced: number;
  /** The events that can come next: a bit for each. */
  readonly successors: number;
};

/**
 * The possible orders of all the events: one for each last event, and last event with an effect. None if the search
 * takes too long.
 */
export function possibleOrders(events: Events): EventOrder[] {
  if (events.length > MAX_ORDERED) return [];
  const names = changedMembers(events);
  const candidates = events.map((event, index) => ({
    event,
    bit: 1 << index,
    successors: bitsWhere(events, (next) => canFollow(next, event, names)),
  }));
  const orders = new Map<string, EventOrder>();
  let steps = 0;

  function extend({ lastWithEffect, unplaced, successors }: Omit<EventOrder, 'last'>): void {
    for (const candidate of candidates) {
      if ((unplaced & successors & candidate.bit) === 0) continue;
      steps += 1;
      const { event } = candidate;
      const longer = {
        last: event,
        lastWithEffect: hasEffect(event) ? event : lastWithEffect,
        unplaced: unplaced & ~candidate.bit,
        successors: candidate.successors,
      };
      // Two orders of the same events with these ends can be continued in the same ways, so one of them is enough.
      orders.set(`${longer.unplaced} ${candidate.bit} ${longer.lastWithEffect?.key}`, longer);
    }
  }

  const all = bitsWhere(events, () => true);
  extend({ lastWithEffect: null, unplaced: all, successors: all });
  // A map's loop also visits the orders that it adds, until all events have a place.
  for (const order of orders.values()) {
    if (steps >= MAX_STEPS) return [];
    extend(order);
  }
  return [...orders.values()].filter(({ unplaced }) => unplaced === 0);
}

export function hasEffect(event: SubscriptionEvent): boolean {
  return planAfter(reportedBy(event).plan) !== null;
}

/** A number with a bit for each of the events that match. */
function bitsWhere(events: Events, isMatch: (event: SubscriptionEvent) => boolean): number {
  return events.reduce((bits, event, index) => (isMatch(event) ? bits | (1 << index) : bits), 0);
}

/** The names of members that changed: at least one event says what it replaced there. */
export function changedMembers(events: Events): readonly string[] {
  const replaced = events.flatMap((event) => Object.keys(event.previousAttributes ?? {}));
  return [...new Set(['status', ...replaced])];
}

/**
 * Whether one event can be the next after another: it replaced what the other left, and kept what it
 * does not name. A deletion that names nothing can follow any event; another event that names nothing
 * can only be the first.
 */
function canFollow(
  { object, previousAttributes, isDeletion }: SubscriptionEvent,
  previous: SubscriptionEvent,
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
export function isSameValue(a: Json | undefined, b: Json | undefined): boolean {
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
