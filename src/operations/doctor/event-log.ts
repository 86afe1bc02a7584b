import type { Query } from '../../postgres/database.ts';
import { readLastBodies } from '../../queries/events.ts';
import { type Health, MAX_COUNTED_PARKED, readHealth } from '../../queries/health.ts';
import { durationOf } from '../../runtime/duration.ts';
import { eventModeOf } from '../../stripe/event-mode.ts';
import type { Mode } from '../../stripe/key-kind.ts';
import { type Check, failure, ok, warning } from './check.ts';

export type EventLogOptions = {
  readonly query: Query;
  /** The mode of the API key; `null` when it is not known. */
  readonly keyMode: Mode | null;
  /** When Stripe made the newest event, in seconds since 1970; `null` when it is not known. */
  readonly newestEventSeconds: number | null;
  readonly nowMs: number;
};

/** So many of the last events are read for their mode. */
const MODE_SAMPLE = 20;

/** An event that was made so long ago has had time to come. */
const ON_ITS_WAY_MS = 10 * 60_000;

/** What the log tells: what is not done, and whether events come at all. */
export async function checkEventLog(options: EventLogOptions): Promise<Check[]> {
  const { query, keyMode } = options;
  const state = await readHealth(query);
  const bodies = await readLastBodies(query, MODE_SAMPLE);
  const modes = bodies.map(eventModeOf).filter((mode) => mode !== null);
  return [
    checkLastEvent(state, options),
    ...checkModes(modes, keyMode),
    checkParked(state, options.nowMs),
    ...checkReadable(state),
    checkAmbiguousOrder(state),
    checkNames(state),
  ];
}

function checkLastEvent(state: Health, options: EventLogOptions): Check {
  const name = 'last event';
  const { lastDeliveredMs, newestCreatedSeconds } = state;
  const { newestEventSeconds, nowMs } = options;
  const since = (ms: number) => `${durationOf(nowMs - ms)} ago`;
  const says = lastDeliveredMs === null ? 'none was ever delivered' : since(lastDeliveredMs);
  const madeMs = newestEventSeconds === null ? null : newestEventSeconds * 1_000;
  const isKnown = (newestEventSeconds ?? 0) <= (newestCreatedSeconds ?? 0);
  if (madeMs !== null && !isKnown && nowMs - madeMs > ON_ITS_WAY_MS) {
    return warning(
      name,
      `${says}; one that Stripe made ${since(madeMs)} is not in the log`,
      'look at the lines about the webhook endpoint, and whether the server runs and catches up',
    );
  }
  if (lastDeliveredMs !== null) return ok(name, says);
  return warning(name, says, 'let Stripe send one: change a subscription of the same mode');
}

/** The last events' modes, the newest first. */
function checkModes(modes: readonly Mode[], keyMode: Mode | null): Check[] {
  const [newest] = modes;
  if (newest === undefined) return [];
  const name = "events' mode";
  if (modes.some((mode) => mode !== newest)) {
    const whatToDo =
      'give each mode an Instep and a database of its own; see STRIPE_WEBHOOK_SECRET';
    return [warning(name, 'test and live: both come to this database', whatToDo)];
  }
  if (keyMode === null || keyMode === newest) return [ok(name, newest)];
  const says = `${newest}, and the API key is of ${keyMode} mode: it finds none of their objects`;
  const whatToDo = 'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode';
  return [failure(name, says, whatToDo)];
}

function checkParked({ parkedEvents, parkedCustomers, parkedSinceMs }: Health, nowMs: number) {
  const name = 'parked events';
  if (parkedEvents === 0 || parkedSinceMs === null) return ok(name, 'none');
  const count = `${parkedEvents}${parkedEvents === MAX_COUNTED_PARKED ? ' or more' : ''}`;
  return warning(
    name,
    `${count}, of ${parkedCustomers} customer(s) without a team, ` +
      `the oldest for ${durationOf(nowMs - parkedSinceMs)}`,
    'see `instep events list --outcome parked`, and link them: `instep team link ID --customer CUS`',
  );
}

function checkReadable({ unreadableEvents }: Health): Check[] {
  if (unreadableEvents === 0) return [];
  const says = `${unreadableEvents} of the newest thousand are of no known shape`;
  const whatToDo = 'upgrade Instep, or report it: the lines `event unreadable` say where';
  return [warning('unreadable events', says, whatToDo)];
}

function checkAmbiguousOrder({ ambiguousSubscriptions }: Health): Check {
  if (ambiguousSubscriptions === 0) return ok('ties', 'none');
  return warning(
    'ties',
    `${ambiguousSubscriptions} subscription(s) of which Stripe was not asked what came last in a second`,
    'the server asks by itself: look whether it runs, and at the lines about the API',
  );
}

function checkNames({ namelessProducts }: Health): Check {
  if (namelessProducts === 0) return ok('names', 'none is missing');
  return warning(
    'names',
    `${namelessProducts} product(s) without a name, and so are the plans of their teams`,
    'the server asks for them by itself: look whether it runs, and at the lines about the API',
  );
}
