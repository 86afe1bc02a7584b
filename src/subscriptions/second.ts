import type { SubscriptionEvent } from './subscription-event.ts';
import { planAfter, type TeamPlan } from './transition.ts';

/** A value as JSON has it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

/** An event with what it tells of its cause: the subscription after it, and what it replaced. */
export type CausedEvent = {
  readonly subscription: SubscriptionEvent;
  readonly after: JsonObject;
  /** The event's `previous_attributes`; `null` when it has none. */
  readonly replaced: JsonObject | null;
  /** Whether it tells of the subscription's end, as Stripe does without saying what it replaced. */
  readonly isDeletion: boolean;
  /** Whether it is Stripe's own word on the subscription, fetched after the second was over. */
  readonly isLook: boolean;
};

/** How a second ends: with the event that the team may follow, and whether that is known. */
export type SecondEnd =
  | { readonly newest: SubscriptionEvent; readonly isCertain: boolean }
  | { readonly newest: null; readonly isCertain: true };

/** Beyond so many events of one subscription within one second no order is looked for. */
const MAX_ORDERED = 30;

/** Nor when so little is told of their causes that there are very many paths. */
const MAX_PLACES = 10_000;

/**
 * Puts the events of one subscription and one second in order (the design's rule, point 3), and
 * says which of them with an effect came last. An event comes after the one whose values it
 * replaced, so all of them form a path. If that leaves several ends possible that differ for the
 * team, or none, the later arrival wins and the end is uncertain. `events` in order of arrival.
 */
export function endOfSecond(events: readonly CausedEvent[]): SecondEnd {
  const withEffect = events.filter(({ subscription }) => planAfter(subscription) !== null);
  const lastArrival = withEffect.at(-1)?.subscription;
  if (lastArrival === undefined) return { newest: null, isCertain: true };
  const isOnePlan = withEffect.every(({ subscription }) => isSamePlan(subscription, lastArrival));
  if (isOnePlan) return { newest: lastArrival, isCertain: true };

  const look = events.findLast(({ isLook }) => isLook);
  if (look !== undefined && withEffect.includes(look)) {
    return { newest: look.subscription, isCertain: true };
  }

  const ends = possibleEnds(events.filter(({ isLook }) => !isLook));
  const end = onlyPlan(ends) ?? (look && lastBefore(look, ends, toldChanges(events)));
  if (end !== undefined) return { newest: end, isCertain: true };
  // Once Stripe was asked, there is nobody else to ask.
  return { newest: lastArrival, isCertain: look !== undefined };
}

/**
 * The end that left the subscription as a look without effect shows it: in all that was told, or,
 * since the status may have lost its effect after the second, in all but the status.
 */
function lastBefore(
  look: CausedEvent,
  ends: readonly PathEnd[],
  told: readonly string[],
): SubscriptionEvent | undefined {
  const asShown = (names: readonly string[]) =>
    onlyPlan(
      ends.filter(({ last }) => names.every((name) => isSame(look.after[name], last.after[name]))),
    );
  return asShown(told) ?? asShown(told.filter((name) => name !== 'status'));
}

/** How a path through all the events ends. */
type PathEnd = {
  readonly last: CausedEvent;
  /** The last of them with an effect. */
  readonly newest: SubscriptionEvent;
};

/** What all these ends come to for the team, if that is the same. */
function onlyPlan(ends: readonly PathEnd[]): SubscriptionEvent | undefined {
  const [first] = ends;
  if (first === undefined) return undefined;
  return ends.every(({ newest }) => isSamePlan(newest, first.newest)) ? first.newest : undefined;
}

/** The ends of all paths through all the events. */
function possibleEnds(events: readonly CausedEvent[]): PathEnd[] {
  if (events.length > MAX_ORDERED) return [];
  const told = toldChanges(events);
  const follows = events.map((next) => events.map((before) => canFollow(next, before, told)));
  const everything = 2 ** events.length - 1;
  const ends: PathEnd[] = [];
  const seen = new Set<string>();

  function walk(visited: number, last: number | null, newest: SubscriptionEvent | null): void {
    const place = `${visited} ${last} ${events.findIndex((event) => event.subscription === newest)}`;
    if (seen.has(place) || seen.size > MAX_PLACES) return;
    seen.add(place);
    for (const [next, event] of events.entries()) {
      const isVisited = (visited & (1 << next)) !== 0;
      if (isVisited || (last !== null && !follows[next]?.[last])) continue;
      const nextNewest = planAfter(event.subscription) === null ? newest : event.subscription;
      const nextVisited = visited | (1 << next);
      if (nextVisited === everything && nextNewest !== null) {
        ends.push({ last: event, newest: nextNewest });
      }
      walk(nextVisited, next, nextNewest);
    }
  }

  walk(0, null, null);
  return seen.size > MAX_PLACES ? [] : ends;
}

/** The members whose changes are told: some event names what it replaced there. */
function toldChanges(events: readonly CausedEvent[]): readonly string[] {
  return [...new Set(['status', ...events.flatMap(({ replaced }) => Object.keys(replaced ?? {}))])];
}

/**
 * Whether one event may be the next after another: it replaced what the other left, and left alone
 * what it does not name. A deletion that names nothing may follow any; another event that names
 * nothing can only be the first.
 */
function canFollow(
  { after, replaced, isDeletion }: CausedEvent,
  before: CausedEvent,
  told: readonly string[],
): boolean {
  if (replaced === null) return isDeletion;
  return (
    holds(before.after, replaced) &&
    told.every((name) => Object.hasOwn(replaced, name) || isSame(before.after[name], after[name]))
  );
}

/** Whether two values are the same; what is not there is null. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return holds(one, other ?? null) && holds(other, one ?? null);
}

/** Deeper than Stripe nests anything; what is deeper is no evidence. */
const MAX_DEPTH = 32;

/** Whether a subscription holds the values that an event replaced; what it lacks is null. */
function holds(value: Json | undefined, part: Json, depth = 0): boolean {
  if (part === null) return value === null || value === undefined;
  if (typeof part !== 'object') return value === part;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  if (isList(part)) {
    const isSameLength = isList(value) && value.length === part.length;
    return isSameLength && part.every((entry, index) => holds(value[index], entry, depth + 1));
  }
  if (isList(value)) return false;
  return Object.entries(part).every(([name, entry]) => holds(value[name], entry, depth + 1));
}

/** `Array.isArray` that knows of read-only lists. */
export function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

function isSamePlan(one: SubscriptionEvent, other: SubscriptionEvent): boolean {
  const plans = [planAfter(one), planAfter(other)];
  const fields: readonly (keyof TeamPlan)[] = [
    'providerSubscriptionId',
    'providerProductId',
    'planName',
    'subscriptionStatus',
  ];
  return fields.every((field) => plans[0]?.[field] === plans[1]?.[field]);
}
