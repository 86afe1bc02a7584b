// LINK_BY_METADATA: a customer without a team is linked to the team that the metadata of its subscription names, if that has
// no customer, when an event arrives, and by a job of maintenance if it waited.

import { linkWhenFree, type ReceivedEvent } from 'instep-engine/log';
import {
  type ApplicationId,
  canOthersSucceed,
  type Database,
  DatabaseBusy,
  type Query,
} from 'instep-engine/postgres';
import { effectOf, type JsonObject } from 'instep-engine/rule';
import { type Logger, Turns } from 'instep-engine/runtime';
import { type EventOrigin, type Mode, mismatchOf, teamNamedIn } from 'instep-engine/stripe';

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

/** So that many links leave connections for the profiles. */
const LINKS_AT_ONCE = 2;

/** Links the customers of arriving events, few at once; nobody without a key. */
export function linksByMetadata({
  database,
  key,
  ...options
}: Omit<LinkOptions, 'key'> & { readonly key: string | null | undefined }): (
  event: ReceivedEvent,
) => Promise<boolean> {
  const turns = new Turns(LINKS_AT_ONCE);
  const inTurn = {
    transaction: <Result>(work: (query: Query) => Promise<Result>) =>
      turns.run(() => database.transaction(work)),
  };
  return async (event) => {
    if (!key || event.kind === 'unreadable') return false;
    const origin = event.kind === 'readable' ? event.origin : undefined;
    return await linkNamedTeam({ ...event, origin }, { ...options, database: inTurn, key });
  };
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
