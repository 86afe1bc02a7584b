import type { Ingest } from '../ingest/pipeline.ts';
import type { Query } from '../postgres/database.ts';
import { readEventIds } from '../queries/events.ts';
import {
  type AmbiguousSubscription,
  readAmbiguousSubscriptions,
} from '../queries/subscriptions.ts';
import type { StripeApi } from '../stripe/api.ts';
import { keysOfSecond } from '../stripe/event-key.ts';
import { makeSnapshot } from '../stripe/subscription-snapshot.ts';
import { lastShownSecond } from './shown-second.ts';
import type { Job } from './worker.ts';

export type AmbiguousOrderOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly retrieveSubscription: StripeApi['retrieveSubscription'];
  readonly now: () => number;
  readonly nonce: () => string;
};

const BATCH = 50;

/** Stripe never knows the subscription of a test fixture: it is not asked again for this long. */
const UNKNOWN_LIFETIME_MS = 60 * 60 * 1_000;

/**
 * Fetches a snapshot of each subscription whose order of events within one second is ambiguous. The
 * snapshot counts only if the second was over by Stripe's clock, and if no other event of it has
 * arrived since the request. Without an answer the subscription stays marked, and nothing waits for it.
 */
export function createAmbiguousOrderJob(options: AmbiguousOrderOptions): Job['run'] {
  const { query, ingest, retrieveSubscription, now, nonce } = options;
  const unknownUntilMs = new Map<string, number>();

  async function decide(
    { subscriptionId, createdSeconds }: AmbiguousSubscription,
    signal: AbortSignal,
  ): Promise<void> {
    const observed = await readEventIds(query, [keysOfSecond(createdSeconds, subscriptionId)]);
    const observedKeys = new Set(observed.map(({ key }) => key));
    const takenAtMs = now();
    const startedAtMs = performance.now();
    const answer = await retrieveSubscription(subscriptionId, signal);
    const tookMs = performance.now() - startedAtMs;
    const isTooEarly =
      answer !== null && lastShownSecond({ ...answer, tookMs }, now()) < createdSeconds;
    if (isTooEarly) return;
    const options = { createdSeconds, observedKeys, takenAtMs, nonce };
    const snapshot = answer === null ? null : makeSnapshot(answer.body, options);
    if (snapshot === null) {
      unknownUntilMs.set(subscriptionId, performance.now() + UNKNOWN_LIFETIME_MS);
      return;
    }
    const { event, body } = snapshot;
    await ingest([{ ...event, body, receivedAtMs: takenAtMs, source: 'log' }]);
  }

  return async (signal) => {
    for (const [subscriptionId, untilMs] of unknownUntilMs) {
      if (untilMs <= performance.now()) unknownUntilMs.delete(subscriptionId);
    }
    const marked = await readAmbiguousSubscriptions(query, BATCH + unknownUntilMs.size);
    for (const subscription of marked) {
      if (signal.aborted) return;
      if (!unknownUntilMs.has(subscription.subscriptionId)) await decide(subscription, signal);
    }
  };
}
