import { keysOfSameSecond } from '../../src/core/event-key.ts';
import { parseEvent } from '../../src/stripe/parse-event.ts';
import type { History, TrueEvent } from '../../src/testing/lifecycle/history.ts';
import type { Arrival } from './memory-store.ts';

/** The simulation itself is at fault, and not what it tests. */
export class SimulationBroken extends Error {}

/** An event as it arrives: with the name of its product, or while the API does not answer. */
export type Arrivals = { readonly named: Arrival; readonly nameless: Arrival };

/** A customer's history and its arrivals, by the events' numbers. Read once, delivered often. */
export type Audience = {
  readonly history: History;
  readonly arrivals: ReadonlyMap<number, Arrivals>;
};

/** Reads all events of a history, as the endpoint would. */
export function readHistory(history: History): Audience {
  const arrivals = history.events.map((event) => [event.number, readEvent(event)] as const);
  return { history, arrivals: new Map(arrivals) };
}

function readEvent({ body, atMs, number, productName }: TrueEvent): Arrivals {
  const event = parseEvent(body, { receivedAtMs: atMs, nonce: () => `nonce_${number}` });
  if (event.kind !== 'readable') throw new SimulationBroken(`an event was ${event.kind}: ${body}`);
  const { key, subscription, after, previousAttributes, isDeletion, isSnapshot } = event;
  const readBack = {
    key,
    subscription: { ...subscription },
    after,
    previousAttributes,
    isDeletion,
    isSnapshot,
  };
  const second = keysOfSameSecond(event.key).low;
  const received = { ...event, body: NO_BYTES, receivedAtMs: atMs, source: 'delivery' } as const;
  const { productId, planName } = subscription;
  const isNamed = productId !== null && planName === null;
  return {
    named: { event: { ...received, productName: isNamed ? productName : null }, readBack, second },
    nameless: { event: { ...received, productName: null }, readBack, second },
  };
}

/** Nothing in memory reads the bytes again. */
const NO_BYTES = new Uint8Array();
