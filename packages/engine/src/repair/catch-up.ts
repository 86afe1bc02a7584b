// Finds the events that were missed, in Stripe's list of events.

import * as v from 'valibot';
import type { LogEvent } from '../log/log-event.ts';
import type { Ingest } from '../log/pipeline.ts';
import type { Query } from '../postgres/database.ts';
import { canOthersSucceed, DatabaseRefused, DatabaseUnavailable } from '../postgres/errors.ts';
import { readStates } from '../postgres/statements/customers.ts';
import { readEventIds } from '../postgres/statements/events.ts';
import { readTeamsOf } from '../postgres/statements/teams.ts';
import { tieGroupRangeOf, tieGroupRanges } from '../rule/event-key-layout.ts';
import type { Json } from '../rule/json.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';
import { parseEvent } from '../stripe/parse-event.ts';
import { type LeasedRun, withLease } from './lease.ts';
import { readPages } from './stripe-calls.ts';
import type { Job } from './worker.ts';

type CatchUpOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly listEvents: StripeApi['listEvents'];
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
  /** Compares a customer's teams with Stripe, and repairs them. By default, listed events are ingested without that. */
  readonly compareCustomer?: (customerId: string, signal: AbortSignal) => Promise<unknown>;
};

/** An event may appear in the list some time after its creation. */
const MARGIN_SECONDS = 60 * 60;

const integer = v.pipe(v.number(), v.integer());

/** All times are in seconds since 1970, by Stripe's clock, or by ours if an answer of Stripe has no time. */
const progressShape = v.object({
  /** The start of the last completed run: everything that was listed then is in the log. */
  seenSeconds: v.nullable(integer),
  /** An incomplete run: it reads the list, newest first, after the cursor's event. */
  unfinishedRun: v.nullable(
    v.object({ sinceSeconds: integer, startedSeconds: integer, cursor: v.nullable(v.string()) }),
  ),
});

type Progress = v.InferOutput<typeof progressShape>;

const NOTHING_SEEN: Progress = { seenSeconds: null, unfinishedRun: null };

/** Catches up at the start, after an outage of the database, and at an interval. */
export function createCatchUpJob(
  options: CatchUpOptions,
  intervalMs: number,
  clockMs = () => performance.now(),
): Job['run'] {
  const { query, nonce } = options;
  const lease = { name: 'catch-up', holder: nonce() };
  /** The start of this process, or the end of the last outage of the database. */
  let outageEndMs = clockMs();

  return async (signal) => {
    const dueAfterMs = Math.min(intervalMs, clockMs() - outageEndMs);
    try {
      await withLease(query, { ...lease, dueAfterMs }, (run) => catchUp(run, options, signal));
    } catch (error) {
      if (error instanceof DatabaseUnavailable) outageEndMs = clockMs();
      throw error;
    }
  };
}

/**
 * Ingests every event that Stripe has created since the last run and that is not in the log. A run is
 * complete when all its events are stored, so an interrupted run is resumed. Events that can't be stored now
 * delay no others.
 */
export async function catchUp(
  run: LeasedRun,
  options: CatchUpOptions,
  signal: AbortSignal,
): Promise<void> {
  const { listEvents, logger, now } = options;
  const last = v.is(progressShape, run.progress) ? run.progress : NOTHING_SEEN;
  // Stripe's clock, as far as it tells it: if ours were ahead by more than the margin, events would be missed for good.
  const sinceSeconds =
    last.unfinishedRun?.sinceSeconds ?? Math.max(0, (last.seenSeconds ?? 0) - MARGIN_SECONDS);
  let { startedSeconds, cursor } = last.unfinishedRun ?? { startedSeconds: null, cursor: null };
  let [listed, missed] = [0, 0];
  const blocked: BlockedCustomers = new Map();

  const list = (cursor: string | null, signal: AbortSignal) =>
    listEvents({ createdSeconds: sinceSeconds, cursor }, signal);
  try {
    for await (const page of readPages({ list, cursor, signal })) {
      startedSeconds ??= page.answeredSeconds ?? Math.floor(now() / 1_000);
      missed += await store(page.objects, blocked, options, signal);
      listed += page.objects.length;
      // The next run begins with the first page whose events could not all be stored.
      if (blocked.size === 0) cursor = page.cursor;
      const unfinishedRun = { sinceSeconds, startedSeconds, cursor };
      if (page.cursor !== null) await run.saveProgress({ ...last, unfinishedRun });
    }
  } catch (error) {
    // Stripe no longer knows the cursor's event: the next run begins at the start of the list.
    if (isRefusedByStripe(error)) {
      await run.saveProgress({ ...last, unfinishedRun: null });
    }
    throw error;
  }

  const [error] = blocked.values();
  if (error !== undefined) throw error;
  const progress: Progress = { seenSeconds: startedSeconds, unfinishedRun: null };
  await run.saveProgress(progress);
  logger[missed > 0 ? 'info' : 'debug']({ listed, missed }, 'caught up');
  // What happened after an interrupted run began is on none of its pages.
  if (last.unfinishedRun !== null) await catchUp({ ...run, progress }, options, signal);
}

/** Customers whose events can't be stored now, for example because their team is locked. */
type BlockedCustomers = Map<string | null, Error>;

/** Ingests the events that are not in the log, except those of blocked customers, and returns their number. */
async function store(
  objects: readonly Json[],
  blocked: BlockedCustomers,
  options: CatchUpOptions,
  signal: AbortSignal,
): Promise<number> {
  const { query, ingest, logger, now, nonce } = options;
  const receivedAtMs = now();
  const events = objects.flatMap((object): LogEvent[] => {
    const text = JSON.stringify(object);
    const event = parseEvent(text, { receivedAtMs, nonce });
    if (event.kind !== 'readable' && event.kind !== 'unreadable') return [];
    return [{ ...event, body: Buffer.from(text), receivedAtMs, source: 'list' }];
  });
  const known = await readEventIds(query, tieGroupRanges(events.map(({ key }) => key)));
  const knownIds = new Set(known.flatMap((event) => [event.key, idInTieGroup(event)]));
  const missed = events.filter(
    (event) => !knownIds.has(event.key) && !knownIds.has(idInTieGroup(event)),
  );
  await compareUnknown(missed, options, signal);
  await Promise.all(
    missed.map(async (event) => {
      const customerId = event.kind === 'unreadable' ? null : event.subscription.customerId;
      if (blocked.has(customerId)) return;
      try {
        await ingest([event]);
      } catch (err) {
        if (!canOthersSucceed(err)) throw err;
        if (err instanceof DatabaseRefused) {
          // A constraint of the application refused it, and would refuse it again.
          logger.error({ eventId: event.eventId, type: event.type, err }, 'event refused');
        } else {
          logger.warn({ customerId, err }, 'missed event not stored');
          blocked.set(customerId, err);
        }
      }
    }),
  );
  return missed.length;
}

/** Stripe renders an event differently in its list. An id there is certainly Stripe's own. */
function idInTieGroup({ key, eventId }: { key: string; eventId: string | null }): string {
  return `${tieGroupRangeOf(key).low} ${eventId ?? key}`;
}

/**
 * Compares the customers whose team has a subscription of which no event is known, as when Instep starts beside an app with
 * subscribers: the listed events can be older, and must not overrule the row.
 */
async function compareUnknown(
  missed: readonly LogEvent[],
  { query, compareCustomer }: CatchUpOptions,
  signal: AbortSignal,
): Promise<void> {
  if (compareCustomer === undefined || missed.length === 0) return;
  const customerIds = missed.flatMap((event) =>
    event.kind === 'unreadable' ? [] : event.subscription.customerId,
  );
  const states = await readStates(query, customerIds);
  for (const { customerId, plan } of await readTeamsOf(query, customerIds)) {
    const rowId = plan.providerSubscriptionId;
    const isUnknown = rowId && !states.of(customerId).subscriptions.has(rowId);
    if (isUnknown) await compareCustomer(customerId, signal);
  }
}
