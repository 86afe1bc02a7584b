import {
  type Health,
  MAX_COUNTED_PARKED,
  readHealth,
  readLastOrigins,
} from '../../health/health.ts';
import type { Query } from '../../postgres/database.ts';
import { counted } from '../../runtime/count-text.ts';
import { durationOf } from '../../runtime/duration.ts';
import type { Mode } from '../../stripe/key-kind.ts';
import { type Check, failure, ok, warning } from './check.ts';

export type EventLogOptions = {
  readonly query: Query;
  /** The mode of the API key; `null` when unknown. */
  readonly keyMode: Mode | null;
  /** When Stripe created the newest event, in seconds since 1970; `null` when unknown. */
  readonly newestEventSeconds: number | null;
  readonly nowMs: number;
};

/** A younger event can still be in transit. */
const IN_TRANSIT_MS = 10 * 60_000;

/** What is out of sync, and whether events arrive. */
export async function checkEventLog(options: EventLogOptions): Promise<Check[]> {
  const { query, keyMode, nowMs } = options;
  const health = await readHealth(query);
  const origins = await readLastOrigins(query);
  const modes = origins.flatMap(({ mode }) => mode ?? []);
  const accounts = origins.flatMap(({ account }) => account ?? []);
  return [
    checkLastEvent(health, options),
    ...checkModes(modes, keyMode),
    ...checkAccounts(accounts, origins.length),
    checkParked(health, nowMs),
    ...checkReadable(health),
    checkAmbiguousOrder(health),
    checkProductNames(health),
  ];
}

function checkLastEvent(health: Health, { newestEventSeconds, nowMs }: EventLogOptions): Check {
  const name = 'last event';
  const { lastDeliveredMs, newestCreatedSeconds } = health;
  const ago = (ms: number) => `${durationOf(nowMs - ms)} ago`;
  const last = lastDeliveredMs === null ? 'none was ever delivered' : ago(lastDeliveredMs);
  const newestMs = (newestEventSeconds ?? 0) * 1_000;
  const isKnown = newestMs <= (newestCreatedSeconds ?? 0) * 1_000;
  if (!isKnown && nowMs - newestMs > IN_TRANSIT_MS) {
    return warning(
      name,
      `${last}; an event that Stripe created ${ago(newestMs)} is not in the log`,
      'see the lines about the webhook endpoint, and check that the server is running',
    );
  }
  if (lastDeliveredMs !== null) return ok(name, last);
  return warning(name, last, 'change a subscription in the same mode, so that Stripe sends one');
}

/** The modes of the last events, newest first. */
function checkModes([newest, ...others]: readonly Mode[], keyMode: Mode | null): Check[] {
  if (newest === undefined) return [];
  const name = 'event mode';
  if (others.some((mode) => mode !== newest)) {
    const finding = 'test and live: events of both modes arrive in this database';
    return [warning(name, finding, 'run a separate Instep, with its own database, for each mode')];
  }
  if (keyMode === null || keyMode === newest) return [ok(name, newest)];
  const finding = `${newest}, but the API key is in ${keyMode} mode: it can't find anything that these events refer to`;
  const advice = 'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode';
  return [failure(name, finding, advice)];
}

function checkAccounts(accounts: readonly string[], total: number): Check[] {
  if (accounts.length === 0) return [];
  const names = [...new Set(accounts)].join(', ');
  const finding = `${accounts.length} of the last ${counted(total, 'event')} belong to other accounts (${names}): they were applied`;
  const advice =
    'register the endpoint only for events of your own account, unless your teams have customers in the others';
  return [warning('event account', finding, advice)];
}

function checkParked(health: Health, nowMs: number): Check {
  const name = 'parked events';
  const { parkedEvents, parkedCustomers, parkedSinceMs } = health;
  if (parkedSinceMs === null) return ok(name, 'none');
  const atLeast = parkedEvents === MAX_COUNTED_PARKED ? 'at least ' : '';
  const customers = counted(parkedCustomers, 'customer');
  const events = `${atLeast}${counted(parkedEvents, 'event')} of ${customers} without a team`;
  return warning(
    name,
    `${events}; the oldest has waited ${durationOf(nowMs - parkedSinceMs)}`,
    'list them: `instep events list --outcome parked`; link a customer: `instep team link ID --customer CUS`',
  );
}

function checkReadable({ unreadableEvents }: Health): Check[] {
  if (unreadableEvents === 0) return [];
  const finding = `${unreadableEvents} of the last 1,000 events could not be read`;
  const advice =
    'upgrade Instep; if that does not help, report the reason from the log lines `event unreadable`';
  return [warning('unreadable events', finding, advice)];
}

const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and see the lines about the API';

function checkAmbiguousOrder({ ambiguousSubscriptions: count }: Health): Check {
  const name = 'event order';
  if (count === 0) return ok(name, 'known');
  const finding = `${counted(count, 'subscription')} with same-second events whose order is unknown`;
  return warning(name, finding, SERVER_ASKS);
}

function checkProductNames({ namelessProducts: count }: Health): Check {
  const name = 'product names';
  if (count === 0) return ok(name, 'complete');
  const finding = `${counted(count, 'product')} without a name: teams with such a product have no plan name`;
  return warning(name, finding, SERVER_ASKS);
}
