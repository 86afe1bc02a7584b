import * as v from 'valibot';
import { keysOfSameSecond } from '../core/event-key.ts';
import type { Json } from '../core/json.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import { recognize } from '../ingest/recognize.ts';
import type { Query } from '../postgres/database.ts';
import { DatabaseRefused } from '../postgres/errors.ts';
import { readEventIds } from '../queries/events.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import { StripeApiFailed } from '../stripe/api-call.ts';
import { readListedEvent } from '../stripe/listed-event.ts';
import type { LeasedRun } from './lease.ts';
import { createLeasedJob } from './leased-job.ts';
import { readPages } from './stripe-pages.ts';
import type { Job } from './worker.ts';

export type CatchUpOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly listEvents: StripeApi['listEvents'];
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
};

/** For how long Stripe lists events. */
const LISTED_SECONDS = 30 * 24 * 60 * 60;

/** An event may come into the list later than others that were made after it. */
const MARGIN_SECONDS = 60 * 60;

const whole = v.pipe(v.number(), v.integer());
const seconds = v.nullable(whole);

/** How far a catch-up is. All times are in seconds since 1970. */
const progressShape = v.object({
  /** Every event that Stripe listed until then is in the log, by Stripe's clock. */
  seenSeconds: seconds,
  /** When that was looked for, by our clock. */
  lookedSeconds: seconds,
  /** What is under way: newest first, after the cursor's event. */
  underWay: v.nullable(
    v.object({ sinceSeconds: whole, newestSeconds: seconds, cursor: v.nullable(v.string()) }),
  ),
});

type Progress = v.InferOutput<typeof progressShape>;

const NOTHING_SEEN: Progress = { seenSeconds: null, lookedSeconds: null, underWay: null };

/** Catches up at the start, after an outage of the database, and every so often. */
export function createCatchUpJob(
  options: CatchUpOptions & { readonly intervalMs: number },
): Job['run'] {
  return createLeasedJob({
    ...options,
    name: 'catch-up',
    isDueAfterOutage: true,
    work: (walk, signal) => catchUp(walk, options, signal),
  });
}

/**
 * Brings every event to the one door that Stripe lists since the last one seen, and that is not in
 * the log. What was seen moves on only when all of it is stored; a crash goes on where it was.
 */
export async function catchUp(
  walk: LeasedRun,
  options: CatchUpOptions,
  signal: AbortSignal,
): Promise<void> {
  const { listEvents, logger, now } = options;
  const before = v.is(progressShape, walk.progress) ? walk.progress : NOTHING_SEEN;
  const nowSeconds = Math.floor(now() / 1_000);
  let underWay = before.underWay ?? begin(before, nowSeconds);
  let [listed, missed] = [0, 0];

  const createdSeconds = underWay.sinceSeconds;
  const list = (cursor: string | null) => listEvents({ createdSeconds, cursor });
  try {
    for await (const page of readPages({ list, cursor: underWay.cursor, signal })) {
      missed += await store(page.objects, options);
      listed += page.objects.length;
      const newestSeconds = newestOf(page.objects, underWay.newestSeconds);
      underWay = { ...underWay, newestSeconds, cursor: page.cursor };
      if (page.cursor !== null) await walk.saveProgress({ ...before, underWay });
    }
  } catch (error) {
    // Stripe has forgotten the event that the page is to follow: from the beginning, the next time.
    if (error instanceof StripeApiFailed && error.isRefused) {
      await walk.saveProgress({ ...before, underWay: null });
    }
    throw error;
  }

  const seenSeconds = underWay.newestSeconds ?? before.seenSeconds;
  await walk.complete({ seenSeconds, lookedSeconds: nowSeconds, underWay: null });
  logger[missed > 0 ? 'info' : 'debug']({ listed, missed }, 'caught up');
  if (nowSeconds - (before.lookedSeconds ?? 0) > LISTED_SECONDS) {
    logger.info('Stripe lists events for 30 days: for what is older, run `instep reconcile`');
  }
}

function begin({ seenSeconds }: Progress, nowSeconds: number) {
  const sinceSeconds = Math.max((seenSeconds ?? 0) - MARGIN_SECONDS, nowSeconds - LISTED_SECONDS);
  return { sinceSeconds, newestSeconds: null, cursor: null };
}

/** Stores what is not in the log yet. Returns how many these were. */
async function store(
  objects: readonly Json[],
  { query, ingest, logger, now, nonce }: CatchUpOptions,
): Promise<number> {
  const receivedAtMs = now();
  const events = objects.flatMap((object): ReceivedEvent[] => {
    const read = readListedEvent(object, { receivedAtMs, nonce });
    return read === null ? [] : [{ ...read.event, body: read.body, receivedAtMs, source: 'list' }];
  });
  const ranges = new Map(
    events.map(({ key }) => keysOfSameSecond(key)).map((range) => [range.low, range]),
  );
  const known = await readEventIds(query, [...ranges.values()]);
  const keys = new Set(known.map(({ key }) => key));
  const missed = recognize(events, known).filter(({ key }) => !keys.has(key));
  await Promise.all(
    missed.map(async (event) => {
      try {
        await ingest([event]);
      } catch (err) {
        // A constraint of the application's: what it refuses now it will refuse again.
        if (!(err instanceof DatabaseRefused)) throw err;
        logger.error({ eventId: event.eventId, type: event.type, err }, 'event refused');
      }
    }),
  );
  return missed.length;
}

function newestOf(objects: readonly Json[], before: number | null): number | null {
  const created = objects.flatMap((object) => (v.is(createdShape, object) ? object.created : []));
  return created.reduce<number | null>((newest, one) => Math.max(newest ?? one, one), before);
}

const createdShape = v.object({ created: whole });
