import type { Ask } from '../database/bench-postgres.ts';
import type { EventContent } from '../load/subscription-event.ts';
import type { ServerCommand } from '../processes/server-process.ts';

/** How many teams and users there are. */
export type Size = { readonly teams: number; readonly users: number };

/** A cookie that identifies a user, and what that user's profile contains. */
export type SignedIn = { readonly cookie: string; readonly proof: string };

export type ProfileReads = {
  readonly path: string;
  /** Signs these users in; they are counted from 1. */
  readonly signIn: (users: readonly number[]) => Promise<readonly SignedIn[]>;
};

/** Something that takes Stripe's events, and mostly says who is signed in, on PostgreSQL. */
export type Contestant = {
  readonly name: string;
  /** As the report calls it. */
  readonly title: string;
  readonly isPeer: boolean;
  readonly webhookPath: string;
  /** `null` where there is no such thing. */
  readonly profiles: ProfileReads | null;
  /** Makes tables, teams and users in an empty database. */
  readonly prepare: (databaseUrl: string, ask: Ask, size: Size) => Promise<void>;
  readonly server: (databaseUrl: string) => ServerCommand;
  /** How many events are logged; `null` where none are. */
  readonly countLogged: ((ask: Ask) => Promise<number>) | null;
  /** What the database says of each customer that has a subscription. */
  readonly readCustomers: (ask: Ask) => Promise<ReadonlyMap<string, string>>;
  /** What it must say of a customer after this event. */
  readonly expect: (content: EventContent) => string;
};
