import type { Neighbors, TieGroup } from './event-history.ts';
import { isList, type Json, type JsonObject } from './json.ts';
import type { SubscriptionChange, SubscriptionEvent } from './subscription-event.ts';
import { isSamePlan, planAfter } from './transition.ts';

/**
 * How the last event of a tie group was found: `known` from its own events or a snapshot with an effect; `inferred`
 * from the tie groups beside it or another snapshot, until a late event of those says more; `ambiguous` while it
 * can't be found.
 */
export type Order = 'known' | 'inferred' | 'ambiguous';

export type LastOfTieGroup = {
  /** The last event with an effect; `null` when none has one. */
  readonly newest: SubscriptionEvent | null;
  readonly order: Order;
};

type Changes = readonly SubscriptionChange[];

/** More events than this in a tie group are not put in order. */
const MAX_ORDERED = 30;

/** Limits all searches for one last event together, when the events give little evidence. */
const MAX_STEPS = 10_000;

/** What is left of `MAX_STEPS`. Once it is used up, no search finds anything. */
type Budget = { steps: number };

/**
 * Puts the events of a tie group in order (docs/contract.md, rule 3) and returns the last one with an effect. An event comes after the one whose values it replaced, so the events form
 * a path. When several paths end differently for the team, as in a cycle from active to unpaid and
 * back, the neighboring seconds help: the path starts where the earlier second ended, and the next
 * second starts where it ends. Otherwise the later arrival wins and the order is ambiguous.
 */
export function lastOfTieGroup({
  events,
  undatedEnd,
  neighbors,
  evidence,
}: TieGroup): LastOfTieGroup {
  if (undatedEnd !== null) return { newest: undatedEnd, order: 'known' };
  const withEffect = events
    .map(({ subscription }) => subscription)
    .filter((subscription) => planAfter(subscription) !== null);
  const lastArrival = withEffect.at(-1) ?? null;
  const isOnePlan = withEffect.every((event) => isSamePlanAfter(event, lastArrival));
  if (isOnePlan) return { newest: lastArrival, order: 'known' };

  const snapshot = events.findLast((event) => isCompleteSnapshot(event, events));
  if (snapshot !== undefined && planAfter(snapshot.subscription) !== null) {
    return { newest: snapshot.subscription, order: 'known' };
  }
  const budget = { steps: evidence.isTooLittle ? -1 : MAX_STEPS };
  const ends = possibleEnds(withoutSnapshots(events), budget);
  const end = onlyPlan(ends);
  if (end !== null) return { newest: end, order: 'known' };

  const inferred = onlyPlan(endsBetween(events, neighbors(), budget));
  if (inferred !== null) return { newest: inferred, order: 'inferred' };
  // Every further event would only make the search longer, so a decision searches once.
  if (budget.steps < 0) evidence.isTooLittle = true;
  if (snapshot === undefined) return { newest: lastArrival, order: 'ambiguous' };
  // A snapshot is the last resort.
  const shown = endShownBy(snapshot, ends, changedNames(events));
  return { newest: shown ?? lastArrival, order: 'inferred' };
}

/** An event that arrived after the snapshot was requested may be missing from it. */
function isCompleteSnapshot(
  { isSnapshot, observedKeys }: SubscriptionChange,
  events: Changes,
): boolean {
  if (!isSnapshot || observedKeys === null) return isSnapshot;
  return withoutSnapshots(events).every(({ key }) => observedKeys.has(key));
}

function withoutSnapshots(events: Changes): SubscriptionChange[] {
  return events.filter(({ isSnapshot }) => !isSnapshot);
}

/**
 * The end that left the subscription as a snapshot without an effect shows it: in all names that
 * changed, or in all but the status, which may have changed after the second.
 */
function endShownBy(
  snapshot: SubscriptionChange,
  ends: readonly Path[],
  changed: readonly string[],
): SubscriptionEvent | null {
  const asShown = (names: readonly string[]) =>
    onlyPlan(
      ends.filter(({ last }) =>
        names.every((name) => isSame(memberOf(snapshot.after, name), memberOf(last.after, name))),
      ),
    );
  return asShown(changed) ?? asShown(changed.filter((name) => name !== 'status'));
}

/** The ends of a second that fit the end of the earlier seconds and the start of the next one. */
function endsBetween(
  events: Changes,
  { earlier, next }: Neighbors,
  budget: Budget,
): readonly Path[] {
  let starts: Changes = [];
  for (const second of earlier) starts = endsAfter(starts, second, budget).map(({ last }) => last);
  const ends = endsAfter(starts, events, budget);
  const nextChanges = withoutSnapshots(next);
  const fitting = ends.filter(({ last }) => possibleEnds(nextChanges, budget, [last]).length > 0);
  if (budget.steps < 0) return [];
  return fitting.length > 0 ? fitting : ends;
}

/** The ends of a second after one of these starts, or all its ends if an event in between is missing. */
function endsAfter(starts: Changes, events: Changes, budget: Budget): readonly Path[] {
  const changes = withoutSnapshots(events);
  const ends = possibleEnds(changes, budget, starts);
  return ends.length > 0 ? ends : possibleEnds(changes, budget);
}

/** An order of some of the events, in which each fits the one before it. With all of them it is an end. */
type Path = {
  readonly last: SubscriptionChange;
  /** The last event on the path with an effect. */
  readonly newest: SubscriptionEvent | null;
  /** The events that are not on the path yet: a bit for each. */
  readonly left: number;
  /** The events that can come next: a bit for each. */
  readonly successors: number;
};

/** The end of all these paths, if it is the same for the team. */
function onlyPlan(ends: readonly Path[]): SubscriptionEvent | null {
  const newest = ends[0]?.newest ?? null;
  return ends.every((end) => isSamePlanAfter(end.newest, newest)) ? newest : null;
}

/** The paths through all the events, one for each end; after one of `starts`, if there are any. */
function possibleEnds(events: Changes, budget: Budget, starts: Changes = []): Path[] {
  if (events.length > MAX_ORDERED || budget.steps < 0) return [];
  const names = changedNames(events);
  const steps = events.map((event, index) => ({
    event,
    bit: 1 << index,
    successors: bitsWhere(events, (next) => canFollow(next, event, names)),
  }));
  const paths = new Map<string, Path>();

  function extend({ newest, left, successors }: Omit<Path, 'last'>): void {
    for (const step of steps) {
      if ((left & successors & step.bit) === 0) continue;
      budget.steps -= 1;
      const { subscription } = step.event;
      const path = {
        last: step.event,
        newest: planAfter(subscription) === null ? newest : subscription,
        left: left & ~step.bit,
        successors: step.successors,
      };
      const newestIndex = events.findIndex((event) => event.subscription === path.newest);
      paths.set(`${path.left} ${step.bit} ${newestIndex}`, path);
    }
  }

  const canStart = (event: SubscriptionChange) =>
    starts.length === 0 || starts.some((start) => canFollow(event, start, names));
  const left = bitsWhere(events, () => true);
  extend({ newest: null, left, successors: bitsWhere(events, canStart) });
  // The loop also visits the paths that it adds.
  for (const path of paths.values()) {
    if (budget.steps < 0) return [];
    extend(path);
  }
  return [...paths.values()].filter(({ left }) => left === 0);
}

/** A number with a bit for each of the events that match. */
function bitsWhere(events: Changes, isMatch: (event: SubscriptionChange) => boolean): number {
  return events.reduce((bits, event, index) => (isMatch(event) ? bits | (1 << index) : bits), 0);
}

/** The names of members that changed: at least one event says what it replaced there. */
function changedNames(events: Changes): readonly string[] {
  const replaced = events.flatMap((event) => Object.keys(event.previousAttributes ?? {}));
  return [...new Set(['status', ...replaced])];
}

/**
 * Whether one event can be the next after another: it replaced what the other left, and kept what it
 * does not name. A deletion that names nothing can follow any event; another event that names nothing
 * can only be the first.
 */
function canFollow(
  { after, previousAttributes, isDeletion }: SubscriptionChange,
  before: SubscriptionChange,
  names: readonly string[],
): boolean {
  if (previousAttributes === null) return isDeletion;
  return (
    holds(before.after, previousAttributes) &&
    names.every(
      (name) =>
        Object.hasOwn(previousAttributes, name) ||
        isSame(memberOf(before.after, name), memberOf(after, name)),
    )
  );
}

/** Whether two values are the same; a missing one counts as null. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return holds(one, other ?? null) && holds(other, one ?? null);
}

/** Deeper than Stripe nests anything; deeper values are no evidence. */
const MAX_DEPTH = 32;

/**
 * Whether a subscription has the values that an event replaced. Lists must have the same length,
 * objects can have more members, and a missing member counts as null.
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

/** An object's own member; `null` when it has none. */
function memberOf(value: JsonObject, name: string): Json {
  return (Object.hasOwn(value, name) ? value[name] : null) ?? null;
}

/** Whether two events mean the same for the team. */
function isSamePlanAfter(one: SubscriptionEvent | null, other: SubscriptionEvent | null): boolean {
  return isSamePlan(one && planAfter(one), other && planAfter(other));
}
