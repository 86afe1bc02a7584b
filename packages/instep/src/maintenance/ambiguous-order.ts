// Decides ambiguous orders of events by asking Stripe for the subscription: a job, and an operator's action.

import type { Ingest } from '../ingest/pipeline.ts';
import type { Query } from '../postgres/database.ts';
import { canOthersSucceed, DatabaseRefused } from '../postgres/errors.ts';
import { readEventIds } from '../postgres/statements/events.ts';
import {
  type AmbiguousSubscription,
  readAmbiguousSubscriptions,
} from '../postgres/statements/subscriptions.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';
import { tieGroupRangeAt } from '../stripe/event-key.ts';
import { makeSnapshot } from '../stripe/subscription-snapshot.ts';
import { lastShownSecond } from './stripe-calls.ts';
import type { Job } from './worker.ts';

type AmbiguousOrderOptions = {
  query: Query;
  ingest: Ingest;
  retrieveSubscription: StripeApi['retrieveSubscription'];
  now: () => number;
  nonce: () => string;
};

type AmbiguousOrderJobOptions = AmbiguousOrderOptions & { logger: Logger };

const BATCH = 50;

/**
 * A subscription is left alone after this many snapshots that did not decide its order, or at once if Stripe does not
 * know it.
 */
const MAX_ATTEMPTS = 3;
const AGAIN_AFTER_MS = 60 * 60 * 1_000;

/** The result of a snapshot. `too early`: the second was not over yet by Stripe's clock. */
type SnapshotResult = 'answered' | 'unknown' | 'too early';

/**
 * Fetches a snapshot of a subscription from Stripe's API and ingests it. It counts only if the second
 * was over by Stripe's clock, and if no other event of it has arrived since the request.
 */
export async function takeSnapshot(
  { subscriptionId, createdSeconds }: AmbiguousSubscription,
  { query, ingest, retrieveSubscription, now, nonce }: AmbiguousOrderOptions,
  signal: AbortSignal,
): Promise<SnapshotResult> {
  const seen = await readEventIds(query, [tieGroupRangeAt(createdSeconds, subscriptionId)]);
  const seenKeys = new Set(seen.map(({ key }) => key));
  const takenAtMs = now();
  const answer = await retrieveSubscription(subscriptionId, signal);
  if (answer === null) return 'unknown';
  if (lastShownSecond(answer, now()) < createdSeconds) return 'too early';
  const dated = { createdSeconds, seenKeys, takenAtMs, nonce };
  const snapshot = makeSnapshot(answer.body, dated);
  if (snapshot === null) return 'unknown';
  await ingest([snapshot]);
  return 'answered';
}

/**
 * Fetches a snapshot of each subscription whose order of events within one second is ambiguous. If Stripe
 * does not answer, the subscription stays marked, and nothing waits for it.
 */
export function createAmbiguousOrderJob(options: AmbiguousOrderJobOptions): Job['run'] {
  /** Subscriptions that were requested and are still ambiguous. */
  const requested = new Map<string, { attempts: number; atMs: number }>();

  /** A failure of one subscription keeps no other waiting. */
  async function tryToTake(
    subscription: AmbiguousSubscription,
    signal: AbortSignal,
  ): Promise<SnapshotResult> {
    try {
      return await takeSnapshot(subscription, options, signal);
    } catch (err) {
      const isUnknown = isRefusedByStripe(err);
      if (!isUnknown && !canOthersSucceed(err)) throw err;
      options.logger.warn({ ...subscription, err }, 'snapshot not applied');
      if (isUnknown) return 'unknown';
      // A locked team is free again later.
      return err instanceof DatabaseRefused ? 'answered' : 'too early';
    }
  }

  return async (signal) => {
    const marked = await readAmbiguousSubscriptions(options.query, BATCH + requested.size);
    const markedIds = new Set(marked.map(({ subscriptionId }) => subscriptionId));
    for (const [id, { atMs }] of requested) {
      if (!markedIds.has(id) || performance.now() - atMs > AGAIN_AFTER_MS) requested.delete(id);
    }
    for (const subscription of marked) {
      if (signal.aborted) return;
      const { subscriptionId } = subscription;
      const attempts = requested.get(subscriptionId)?.attempts ?? 0;
      if (attempts >= MAX_ATTEMPTS) continue;
      const result = await tryToTake(subscription, signal);
      if (result === 'too early') continue;
      requested.set(subscriptionId, {
        attempts: result === 'unknown' ? MAX_ATTEMPTS : attempts + 1,
        atMs: performance.now(),
      });
    }
  };
}
