// Links customers to teams, each in a transaction of its own. LINK_BY_METADATA: a customer without a team is linked to the
// team that the metadata of its subscription names, if that has no customer, by pipeline.ts when an event arrives, and by a
// job of maintenance if it waited.

import {
  canOthersSucceed,
  DatabaseBusy,
  DeadlineExceeded,
  effectOf,
  type JsonObject,
  pause,
} from 'instep-engine';
import type { ApplicationId } from '../application.ts';
import type { Database } from '../postgres/database.ts';
import { type LinkRefusal, linkAvailableTeam } from '../postgres/statements/lock-teams.ts';
import type { Logger } from '../runtime/logging.ts';
import { type EventOrigin, type Mode, mismatchOf } from '../stripe/key-kind.ts';
import { teamNamedIn } from '../stripe/subscription-facts.ts';

export type LinkOptions = {
  readonly database: Pick<Database, 'transaction'>;
  readonly logger: Logger;
  /** The key of the metadata that names a team. */
  readonly key: string;
  /** The mode of the API key; `null`: unknown. */
  readonly keyMode: Mode | null;
  /** How long a link can wait for another transaction that has locked the team or links the customer. */
  readonly deadlineMs: number;
};

/** What an event reports, as far as a link depends on it. */
export type NamingEvent = {
  readonly subscription: { readonly customerId: string; readonly status: string };
  readonly object: JsonObject;
  /** `undefined`: it comes from Stripe's API. */
  readonly origin: EventOrigin | undefined;
};

/** Another transaction that links the same customer or team is over soon. */
const PAUSE_MS = 20;

/**
 * Links a team without a customer to a customer without a team. A crash before the customer's plan is written leaves an
 * empty team, which is settled.
 *
 * @throws DatabaseRefused when the application refuses the link; DatabaseBusy after the deadline
 */
export async function linkWhenFree(
  database: Pick<Database, 'transaction'>,
  { teamId, customerId }: { readonly teamId: ApplicationId; readonly customerId: string },
  deadlineMs: number,
): Promise<'linked' | LinkRefusal> {
  const startedAtMs = performance.now();
  for (;;) {
    try {
      const result = await database.transaction((query) =>
        linkAvailableTeam(query, teamId, customerId),
      );
      if (result !== 'locked') return result;
    } catch (error) {
      if (!(error instanceof DatabaseBusy)) throw error;
    }
    if (performance.now() - startedAtMs > deadlineMs) {
      const cause = new DeadlineExceeded(deadlineMs);
      throw new DatabaseBusy('another transaction has locked the team, or links it', { cause });
    }
    await pause(PAUSE_MS);
  }
}

/**
 * Links the customer of an event that grants a plan. Returns whether it did. The events of another account or mode name
 * nobody's team: others can write metadata there. Nor does the end of a subscription: it must not take a later one's team.
 *
 * @throws DatabaseBusy after the deadline
 */
export async function linkNamedTeam(
  { subscription: { customerId, status }, object, origin }: NamingEvent,
  { database, logger, key, keyMode, deadlineMs }: LinkOptions,
): Promise<boolean> {
  if (effectOf(status) !== 'grants') return false;
  if (origin !== undefined && mismatchOf(origin, keyMode) !== null) return false;
  const teamId: ApplicationId | null = teamNamedIn(object, key);
  if (teamId === null) return false;
  try {
    const result = await linkWhenFree(database, { teamId, customerId }, deadlineMs);
    if (result === 'linked') logger.info({ teamId, customerId }, 'team linked by metadata');
    return result === 'linked';
  } catch (error) {
    // The event is stored, and waits for a team.
    if (canOthersSucceed(error) && !(error instanceof DatabaseBusy)) return false;
    throw error;
  }
}
