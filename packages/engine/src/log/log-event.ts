// What is ingested, and what comes back.

import type { ApplicationId } from '../postgres/application.ts';
import type { Outcome, SubscriptionEvent } from '../rule/event.ts';
import type { ActingOperator, ChangeCause } from '../rule/plan-change.ts';

/** An event to ingest. One that can't be read is stored, and changes nothing. */
export type LogEvent = ReadableLogEvent | UnreadableLogEvent;

export type ReadableLogEvent = SubscriptionEvent &
  Received & { readonly kind: 'readable' | 'snapshot' };

type UnreadableLogEvent = Pick<SubscriptionEvent, 'key' | 'eventId' | 'type'> &
  Received & { readonly kind: 'unreadable'; readonly problem: string };

type Received = {
  readonly body: Uint8Array;
  readonly receivedAtMs: number;
  /** `delivery`: Stripe sent it, which is counted. `list`: Stripe's API listed it. `log`: it comes from Instep itself. */
  readonly source: 'delivery' | 'list' | 'log';
  /** The cause of the changes that it makes, if that is not the event or the snapshot itself. */
  readonly changeCause?: ChangeCause;
  /** The operator who ingests it. */
  readonly operator?: ActingOperator | null;
  /** The name of its product, if it was looked up. */
  readonly productName?: string | null;
};

/** How many deliveries of Stripe an event is. */
export const deliveriesOf = ({ source }: LogEvent) => (source === 'delivery' ? 1 : 0);

/** The outcome of an event in the log. A duplicate has no row of its own: it counts as a delivery. */
export type LoggedOutcome = (typeof LOGGED_OUTCOMES)[number];

export const LOGGED_OUTCOMES = [
  'applied',
  'unchanged',
  'stale',
  'parked',
  'unreadable',
] as const satisfies readonly (Exclude<Outcome, 'duplicate'> | 'parked' | 'unreadable')[];

/** An event as the log returns it. */
export type LoggedEvent = {
  readonly position: number;
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly customerId: string | null;
  readonly receivedAtMs: number;
  readonly outcome: LoggedOutcome;
  /** For a parked event, its outcome with a team. */
  readonly parkedOutcome: LoggedOutcome | null;
  readonly body: Uint8Array;
};

/** The outcome of an event, and the teams that have its customer. */
export type IngestResult = {
  readonly outcome: LoggedOutcome | 'duplicate';
  /** Its outcome in the log: that of a duplicate is its first delivery's. */
  readonly loggedOutcome: LoggedOutcome;
  readonly teamIds: readonly ApplicationId[];
  /** The teams whose plan stays, because the application wrote it and nothing contradicts it. */
  readonly keptTeamIds: readonly ApplicationId[];
};
