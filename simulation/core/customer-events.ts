import { FIRST_DATED_KEY } from 'instep-engine/rule';
import { parseEvent, type ReadableEvent } from 'instep-engine/src/stripe/parse-event.ts';
import type { SnapshotEvent } from 'instep-engine/src/stripe/subscription-snapshot.ts';
import type { History, TrueEvent } from '../lifecycle/history.ts';
import type { Arrival } from './core-store.ts';

/** The simulation itself is defective, not what it tests. */
export class SimulationBroken extends Error {}

/** An event with the name of its product, and without it because the API is down. */
type EventVariants = { readonly named: Arrival; readonly unnamed: Arrival };

/** A customer's history, and its events by number: parsed once, delivered often. */
export type CustomerEvents = {
  readonly history: History;
  readonly variants: ReadonlyMap<number, EventVariants>;
};

/** Whether events without `created` come between those that Stripe's clock orders. */
export function hasUndatedEvents({ variants }: CustomerEvents): boolean {
  return [...variants.values()].some(({ named }) => named.key < FIRST_DATED_KEY);
}

export function parseHistory(history: History): CustomerEvents {
  const variants = history.events.map((event) => [event.number, variantsOf(event)] as const);
  return { history, variants: new Map(variants) };
}

function variantsOf(event: TrueEvent): EventVariants {
  const readable = parseReadable(event);
  const { productId, planName } = readable.subscription;
  const isNamed = productId !== null && planName === null;
  return {
    named: toArrival(readable, event.atMs, isNamed ? event.productName : null),
    unnamed: toArrival(readable, event.atMs, null),
  };
}

/** Parses an event, as the endpoint would. @throws SimulationBroken */
export function parseReadable({ body, atMs, number }: TrueEvent): ReadableEvent {
  const event = parseEvent(body, { receivedAtMs: atMs, nonce: () => `nonce_${number}` });
  if (event.kind !== 'readable') throw new SimulationBroken(`an event is ${event.kind}: ${body}`);
  return event;
}

/** The store in memory never parses a body again. */
const NO_BYTES = new Uint8Array();

export function toArrival(
  event: ReadableEvent | SnapshotEvent,
  receivedAtMs: number,
  productName: string | null,
): Arrival {
  return { ...event, body: NO_BYTES, receivedAtMs, source: 'delivery', productName };
}
