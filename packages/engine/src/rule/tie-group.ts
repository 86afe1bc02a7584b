// Finds the last of the events of one subscription in one second, a *tie group*: fold.ts asks for the last one with an
// effect, latest-event.ts for the last one of all. All functions take the group in the order of arrival.

import type { DecidingEvent } from './customer-state.ts';
import { isDated, type SubscriptionEvent } from './event.ts';
import {
  changedMembers,
  type EventOrder,
  hasEffect,
  isSameValue,
  possibleOrders,
} from './event-order.ts';
import { member } from './json.ts';
import { isSamePlan, planAfter } from './plan.ts';
import { bestOf } from './plan-selection.ts';
import { reportedBy } from './reported.ts';

type Events = readonly SubscriptionEvent[];

/**
 * Puts the events of a tie group in order (docs/contract.md, section 6, ordering rule 3) and returns the last one with an
 * effect; `null`: none has one. An event comes after the one whose values it replaced. If several orders are possible and
 * differ for the team, as in a cycle from active to unpaid and back, the last arrival counts, and the order is ambiguous
 * until a snapshot shows it.
 *
 * @example
 * Three events of one second arrive as C, A, B. In brackets is what they replaced:
 * A: active (incomplete), B: unpaid (active), C: active (unpaid). Only B fits after A, and only C after B, so C decides.
 * Without A, both B C and C B are possible, so the order is ambiguous.
 */
export function lastEventWithEffect(group: Events): DecidingEvent | null {
  const lastArrival = group.findLast(hasEffect);
  if (lastArrival === undefined) return null;
  // Only its arrival shows the place of an event without `created`.
  if (!isDated(lastArrival)) return known(lastArrival);
  const events = group.filter(isDated);
  const withEffect = events.filter(hasEffect);
  const isOnePlan = withEffect.every((event) => isSamePlanAfter(event, lastArrival));
  if (isOnePlan) return isLastStatusKnown(events) ? known(lastArrival) : ambiguous(lastArrival);

  const snapshot = completeSnapshotIn(events);
  if (snapshot !== undefined && hasEffect(snapshot)) return known(snapshot);
  const possible = possibleOrders(withoutSnapshots(events));
  const last = lastIfSamePlan(possible);
  if (last !== null) return known(last);
  if (snapshot === undefined) return ambiguous(lastArrival);
  return known(lastShownBy(snapshot, possible, changedMembers(events)) ?? preferred(withEffect));
}

function known(event: SubscriptionEvent): DecidingEvent {
  return { reported: reportedBy(event), isAmbiguous: false };
}

function ambiguous(event: SubscriptionEvent): DecidingEvent {
  return { reported: reportedBy(event), isAmbiguous: true };
}

/**
 * The last event of a tie group of dated events: the deciding event of the subscription, or one without an effect after
 * it. If several are possible, the choice does not depend on their arrival.
 */
export function lastEventOf(events: Events, deciding: DecidingEvent | null): SubscriptionEvent {
  const snapshot = completeSnapshotIn(events);
  if (snapshot !== undefined) return snapshot;
  // If the deciding event is of another second, no event of this one has an effect.
  const decidingHere = events.find((event) => reportedBy(event) === deciding?.reported) ?? null;
  const lastEvents = possibleOrders(withoutSnapshots(events))
    .filter(({ lastWithEffect }) => isSamePlanAfter(lastWithEffect, decidingHere))
    .map(({ last }) => last);
  if (lastEvents.length > 0) return firstInText(lastEvents);
  // It decides although no order shows it: a snapshot does, or it is the last arrival.
  return firstInText(events.filter((event) => isSamePlanAfter(event, decidingHere)));
}

/** One of these events, the same in whatever order they arrived. */
function firstInText(events: Events): SubscriptionEvent {
  const textOf = (event: SubscriptionEvent) => JSON.stringify(reportedBy(event));
  return events.reduce((first, other) => (textOf(other) < textOf(first) ? other : first));
}

/** Whether the last status is known, where all events with an effect lead to the same plan. */
function isLastStatusKnown(events: Events): boolean {
  if (hasOneStatus(events) || completeSnapshotIn(events) !== undefined) return true;
  const lastEvents = possibleOrders(withoutSnapshots(events)).map(({ last }) => last);
  return hasOneStatus(lastEvents);
}

export function hasOneStatus(events: Events): boolean {
  return new Set(events.map(({ subscription }) => subscription.status)).size === 1;
}

/** A snapshot that had seen all other events. One that arrived after it was requested may be missing from it. */
function completeSnapshotIn(events: Events): SubscriptionEvent | undefined {
  const others = withoutSnapshots(events);
  return events.findLast(
    ({ isSnapshot, seenKeys }) =>
      isSnapshot && (seenKeys === null || others.every(({ key }) => seenKeys.has(key))),
  );
}

function withoutSnapshots(events: Events): SubscriptionEvent[] {
  return events.filter(({ isSnapshot }) => !isSnapshot);
}

/**
 * The last event that left the subscription as a snapshot without an effect shows it: in all members that
 * changed, or in all but the status, which may have changed afterward.
 */
function lastShownBy(
  snapshot: SubscriptionEvent,
  possible: readonly EventOrder[],
  changed: readonly string[],
): SubscriptionEvent | null {
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

/**
 * The last event with an effect, if all these orders mean the same for the team; `null`: they differ, there is none, or no
 * event has an effect.
 */
function lastIfSamePlan(orders: readonly EventOrder[]): SubscriptionEvent | null {
  const first = orders[0]?.lastWithEffect ?? null;
  const isOnePlan = orders.every(({ lastWithEffect }) => isSamePlanAfter(lastWithEffect, first));
  return isOnePlan ? first : null;
}

/**
 * The event that decides where not even Stripe's answer shows the order, whatever the order of arrival: one that grants
 * a plan, if there is one, so that nobody who has paid loses it.
 */
function preferred(withEffect: Events): SubscriptionEvent {
  const granting = bestOf(withEffect, ({ subscription }) => subscription.status);
  return firstInText(granting.length > 0 ? granting : withEffect);
}

/** Whether two events mean the same for the team. */
function isSamePlanAfter(a: SubscriptionEvent | null, b: SubscriptionEvent | null): boolean {
  const planOf = (event: SubscriptionEvent | null) => event && planAfter(reportedBy(event).plan);
  return isSamePlan(planOf(a), planOf(b));
}
