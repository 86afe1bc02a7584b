// Finds events that are the same although their content differs: for each batch, and for the events that catch-up finds
// in Stripe's list.

import * as v from 'valibot';
import { tieGroupRangeOf } from '../core/event-key-layout.ts';
import type { LoggedEvent, LoggedOutcome } from '../core/subscription-event.ts';
import type { ReceivedEvent } from './received-event.ts';

/** An event in the log or in the batch. Without a body it only matches listed events. */
type ComparedEvent = {
  key: string;
  eventId: string | null;
  body?: Uint8Array;
  source?: ReceivedEvent['source'];
  outcome?: LoggedOutcome;
};

/**
 * Gives events the keys that they have in the log, which are usually their own. But Stripe renders one event
 * differently for endpoints with different API versions, and in its list of events, and members can have any order.
 * Then the id, the type and the tie group identify it. Sample events of a test can share an id, such as
 * `evt_00000000000000`, but then also the API version and not the content, so each of them remains a separate event.
 */
export function recognize<Event extends ReceivedEvent>(
  events: readonly Event[],
  logged: readonly ComparedEvent[],
): readonly Event[] {
  const keyOf = createKeyLookup();
  for (const event of decidedFirst(logged)) keyOf(event);
  return events.map((event) => {
    const key = keyOf(event);
    return key === event.key ? event : { ...event, key };
  });
}

/**
 * The keys of parked events that the log has twice, and the keys of the events of which they are copies. Without
 * a team there is no lock, so two instances can park one event in two API versions at the same time.
 */
export function findParkedCopies(logged: readonly LoggedEvent[]): ReadonlyMap<string, string> {
  const keyOf = createKeyLookup();
  const parkedCopies = new Map<string, string>();
  for (const event of decidedFirst(logged)) {
    const key = keyOf(event);
    if (isParked(event) && key !== event.key) parkedCopies.set(event.key, key);
  }
  return parkedCopies;
}

/** An event that was decided comes first, then the first parked one. */
function decidedFirst<Event extends ComparedEvent>(logged: readonly Event[]): readonly Event[] {
  return [...logged.filter((event) => !isParked(event)), ...logged.filter(isParked)];
}

function isParked({ outcome }: ComparedEvent): boolean {
  return outcome === 'parked';
}

/** Returns a function that finds the key of the first event that is the same as a given one. */
function createKeyLookup(): (event: ComparedEvent) => string {
  const keys = new Map<string, string>();
  const withSameId = new Map<string, ComparedEvent[]>();
  const contents = new Map<string, Content>();

  function readOnce({ key, body }: ComparedEvent): Content | undefined {
    const found = contents.get(key) ?? (body && contentOf(body));
    if (found !== undefined) contents.set(key, found);
    return found;
  }

  /** Whether it is the same event as one with its id and tie group. */
  function isSameEvent(event: ComparedEvent, earlier: ComparedEvent): boolean {
    // An id in Stripe's list is certainly Stripe's own.
    if (event.source === 'list') return true;
    const content = readOnce(event);
    const known = readOnce(earlier);
    if (content === undefined || known === undefined) return false;
    if (content.type !== known.type) return false;
    return content.apiVersion !== known.apiVersion || content.data === known.data;
  }

  return (event) => {
    const known = keys.get(event.key);
    if (known !== undefined) return known;
    const id = idInTieGroup(event);
    const candidates = withSameId.get(id) ?? [];
    const same =
      event.eventId === null
        ? undefined
        : candidates.find((earlier) => isSameEvent(event, earlier));
    if (same === undefined) withSameId.set(id, [...candidates, event]);
    const key = same?.key ?? event.key;
    keys.set(event.key, key);
    return key;
  };
}

/** The tie group of an event, and its id. */
function idInTieGroup({ key, eventId }: ComparedEvent): string {
  return `${tieGroupRangeOf(key).low} ${eventId}`;
}

const shape = v.object({
  type: v.string(),
  api_version: v.nullish(v.string()),
  data: v.optional(v.unknown()),
});

/** What a body says of its event. */
type Content = {
  type: string | null;
  /** The API version of its structure; each endpoint has its own. */
  apiVersion: string | null;
  /** Its data as JSON, with the members of each object in alphabetical order. */
  data: string;
};

/** Reads the content of a signed event. The body must be JSON. `undefined` if it is nested too deeply to be compared. */
function contentOf(body: Uint8Array): Content | undefined {
  const { success, output } = v.safeParse(shape, JSON.parse(new TextDecoder().decode(body)));
  if (!success) return { type: null, apiVersion: null, data: '' };
  const { type, api_version: apiVersion = null, data = null } = output;
  try {
    return { type, apiVersion, data: JSON.stringify(data, inOrder) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** For `JSON.stringify`. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
