// The state of a customer: what all its events say together. fold.ts makes it, state-json.ts stores it.

import type { Reported } from './reported.ts';

/** A customer's subscriptions, by id. Events without one count as one more subscription, under `null`. */
export type CustomerState = {
  readonly subscriptions: ReadonlyMap<string | null, SubscriptionState>;
  /** Whether subscriptions were dropped. The log still has their events (bounded-state.ts). */
  readonly hasDropped: boolean;
};

export type SubscriptionState = {
  /** `null`: no event has an effect. */
  readonly deciding: DecidingEvent | null;
  readonly latest: LatestEvent;
};

/** A subscription's newest event with an effect: the last one of its newest tie group that has one. */
export type DecidingEvent = {
  readonly reported: Reported;
  /** Whether the events of its tie group leave open which came last. Stripe is asked then. */
  readonly isAmbiguous: boolean;
};

/** A subscription's newest event, whatever its status. */
export type LatestEvent = {
  readonly reported: Reported;
  /** When this status began: the first event with it since the last event with another one. */
  readonly sinceSeconds: number;
  /** The second of the last event with another status; `null`: there is none. */
  readonly otherStatusSeconds: number | null;
};

/** The state of a customer of whom no event is known. */
export const NO_STATE: CustomerState = { subscriptions: new Map(), hasDropped: false };

/** The oldest event of a second that leaves open which event came last, so that Stripe has to be asked; `null`: none does. */
export function ambiguousReport({ subscriptions }: CustomerState): Reported | null {
  const [oldest] = [...subscriptions.values()]
    .flatMap(({ deciding }) => (deciding?.isAmbiguous ? deciding.reported : []))
    .sort((a, b) => a.createdSeconds - b.createdSeconds);
  return oldest ?? null;
}
