import { isList, type Json, type JsonObject } from './json.ts';
import type { SubscriptionChange, SubscriptionEvent } from './subscription-event.ts';
import { isSamePlan, planAfter } from './transition.ts';
/** How a second ends: with the event that the team follows, and whether its place is a guess. */
export type LastOfSecond = {
  /** `null` when none of them has an effect. */
  readonly newest: SubscriptionEvent | null;
  readonly isOrderAmbiguous: boolean;
};

/** Beyond so many events of one subscription within one second no order is looked for. */
const MAX_ORDERED = 30;

/** Nor when so little is told of their causes that there are very many paths. */
const MAX_PATHS = 10_000;

/**
 * Puts the events of one subscription and one second in order (the design's rule, point 3), and
 * says which of them with an effect came last. An event comes after the one whose values it
 * replaced, so all of them form a path. If that leaves several ends possible that differ for the
 * team, or none, the later arrival wins and the order is ambiguous. `events` in order of arrival.
 */
export function lastOfSecond(events: readonly SubscriptionChange[]): LastOfSecond {
  const withEffect = events
    .map(({ subscription }) => subscription)
    .filter((subscription) => planAfter(subscription) !== null);
  const lastArrival = withEffect.at(-1) ?? null;
  const isOnePlan = withEffect.every((event) => isSameEnd(event, lastArrival));
  if (isOnePlan) return { newest: lastArrival, isOrderAmbiguous: false };

  const look = events.findLast(({ isSnapshot }) => isSnapshot);
  if (look !== undefined && planAfter(look.subscription) !== null) {
    return { newest: look.subscription, isOrderAmbiguous: false };
  }

  const ends = possibleEnds(events.filter(({ isSnapshot }) => !isSnapshot));
  const end = onlyPlan(ends) ?? (look && lastBefore(look, ends, toldChanges(events)));
  // Once Stripe was asked, there is nobody else to ask.
  return { newest: end ?? lastArrival, isOrderAmbiguous: !(end ?? look) };
}

/**
 * The end that left the subscription as a look without effect shows it: in all that was told, or,
 * since the status may have lost its effect after the second, in all but the status.
 */
function lastBefore(
  look: SubscriptionChange,
  ends: readonly Path[],
  told: readonly string[],
): SubscriptionEvent | null {
  const asShown = (names: readonly string[]) =>
    onlyPlan(
      ends.filter(({ last }) => names.every((name) => isSame(look.after[name], last.after[name]))),
    );
  return asShown(told) ?? asShown(told.filter((name) => name !== 'status'));
}

/** A path through some of the events, or through all. */
type Path = {
  readonly last: SubscriptionChange;
  /** The last of them with an effect. */
  readonly newest: SubscriptionEvent | null;
  /** The events that are still to come: a bit for each. */
  readonly left: number;
  /** The events that may follow the last one. */
  readonly followers: number;
};

/** What all these paths come to for the team, if that is the same. */
function onlyPlan(ends: readonly Path[]): SubscriptionEvent | null {
  const newest = ends[0]?.newest ?? null;
  return ends.every((end) => isSameEnd(end.newest, newest)) ? newest : null;
}

/** All paths through all the events; of those that end the same, one. */
function possibleEnds(events: readonly SubscriptionChange[]): Path[] {
  if (events.length > MAX_ORDERED) return [];
  const told = toldChanges(events);
  const steps = events.map((event, index) => ({
    event,
    bit: 1 << index,
    followers: bitsWhere(events, (next) => canFollow(next, event, told)),
  }));
  const paths = new Map<string, Path>();

  function extend({ newest, left, followers }: Omit<Path, 'last'>): void {
    for (const step of steps.filter(({ bit }) => (left & followers & bit) !== 0)) {
      const { subscription } = step.event;
      const path = {
        last: step.event,
        newest: planAfter(subscription) === null ? newest : subscription,
        left: left & ~step.bit,
        followers: step.followers,
      };
      const newestIndex = events.findIndex((event) => event.subscription === path.newest);
      paths.set(`${path.left} ${step.bit} ${newestIndex}`, path);
    }
  }

  const all = bitsWhere(events, () => true);
  extend({ newest: null, left: all, followers: all });
  // What is added meanwhile is visited too.
  for (const path of paths.values()) {
    if (paths.size > MAX_PATHS) return [];
    extend(path);
  }
  return [...paths.values()].filter(({ left }) => left === 0);
}

/** A number with a bit for each of the events that are so. */
function bitsWhere(
  events: readonly SubscriptionChange[],
  isSo: (event: SubscriptionChange) => boolean,
): number {
  return events.reduce((bits, event, index) => (isSo(event) ? bits | (1 << index) : bits), 0);
}

/** The members whose changes are told: some event names what it replaced there. */
function toldChanges(events: readonly SubscriptionChange[]): readonly string[] {
  return [
    ...new Set([
      'status',
      ...events.flatMap(({ previousAttributes }) => Object.keys(previousAttributes ?? {})),
    ]),
  ];
}

/**
 * Whether one event may be the next after another: it replaced what the other left, and left alone
 * what it does not name. A deletion that names nothing may follow any; another event that names
 * nothing can only be the first.
 */
function canFollow(
  { after, previousAttributes, isDeletion }: SubscriptionChange,
  before: SubscriptionChange,
  told: readonly string[],
): boolean {
  if (previousAttributes === null) return isDeletion;
  return (
    holds(before.after, previousAttributes) &&
    told.every(
      (name) => Object.hasOwn(previousAttributes, name) || isSame(before.after[name], after[name]),
    )
  );
}

/** Whether two values are the same; what is not there is null. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return holds(one, other ?? null) && holds(other, one ?? null);
}

/** Deeper than Stripe nests anything; what is deeper is no evidence. */
const MAX_DEPTH = 32;

/**
 * Whether a subscription holds the values that an event replaced; what it lacks is null. A list is
 * held entry by entry by one of its length, an object also by one with more members.
 */
function holds(value: Json | undefined, part: Json, depth = 0): boolean {
  if (typeof part !== 'object' || part === null) return (value ?? null) === part;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  if (isList(part)) {
    if (!isList(value) || value.length !== part.length) return false;
    return part.every((entry, index) => holds(value[index], entry, depth + 1));
  }
  if (isList(value)) return false;
  return Object.keys(part).every((name) =>
    holds(memberOf(value, name), memberOf(part, name), depth + 1),
  );
}

/** Its own member; `null` when it has none, although every object inherits some. */
function memberOf(value: JsonObject, name: string): Json {
  return (Object.hasOwn(value, name) ? value[name] : null) ?? null;
}

/** Whether two events come to the same for the team. */
function isSameEnd(one: SubscriptionEvent | null, other: SubscriptionEvent | null): boolean {
  return isSamePlan(one && planAfter(one), other && planAfter(other));
}
