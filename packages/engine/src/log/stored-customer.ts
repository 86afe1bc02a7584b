// What is read of a customer before a decision.

import type { CustomerState } from '../rule/customer-state.ts';
import type { Outcome } from '../rule/event.ts';
import type { KnownEvents } from '../rule/known-events.ts';
import type { Plan } from '../rule/plan-fields.ts';
import type { LoggedOutcome, TeamId } from './received-event.ts';

export type StoredCustomer = {
  readonly customerId: string;
  /** Every write raises it; 0: the customer has no row. */
  readonly version: number;
  readonly state: CustomerState;
  /** What waits for a team: nothing, `events` that would not change its plan, or a `plan`. */
  readonly waiting: Waiting | null;
  /** In the order of their ids. */
  readonly teams: readonly StoredTeam[];
};

export type Waiting = 'events' | 'plan';

/** A team of the customer. Its plan has only the fields that the application's table has. */
export type StoredTeam = { readonly id: TeamId; readonly plan: Plan };

/** The events of the log that decisions look at. */
export type LoggedEvents = {
  readonly known: KnownEvents;
  /** By key. */
  readonly outcomes: ReadonlyMap<string, LoggedOutcomes>;
};

/** The outcome in the log and, for a parked event, the one that it gets with a team. */
export type LoggedOutcomes = {
  readonly outcome: LoggedOutcome;
  readonly withTeam: Outcome | null;
};
