import type { Ask } from '../database/bench-postgres.ts';
import type { EventContent } from '../load/subscription-event.ts';
import type { ServerCommand } from '../processes/server-process.ts';

export type Size = { readonly teams: number; readonly users: number };

/** A cookie that identifies a user, and a text that the user's profile contains. */
export type SignedIn = { readonly cookie: string; readonly proof: string };

type ProfileReads = {
  readonly path: string;
  /** Signs these users in. User numbers start at 1. */
  readonly signIn: (users: readonly number[]) => Promise<readonly SignedIn[]>;
};

/** A system under test: it receives Stripe's events and usually serves profiles, on PostgreSQL. */
export type System = {
  readonly name: string;
  /** Its name in the report. */
  readonly title: string;
  readonly isPeer: boolean;
  /** Whether late and repeated events change nothing. */
  readonly keepsOrder: boolean;
  readonly webhookPath: string;
  /** `null` when it serves no profiles. */
  readonly profiles: ProfileReads | null;
  /** Creates tables, teams and users in an empty database. */
  readonly prepare: (databaseUrl: string, ask: Ask, size: Size) => Promise<void>;
  readonly server: (databaseUrl: string) => ServerCommand;
  /** Counts the logged events; `null` when it has no event log. */
  readonly countLogged: ((ask: Ask) => Promise<number>) | null;
  /** Reads the stored state of each customer with a subscription. */
  readonly readSubscriptions: (ask: Ask) => Promise<ReadonlyMap<string, string>>;
  /** The state that a customer must have after this event. */
  readonly expect: (content: EventContent) => string;
};
