import type { Json } from '../core/json.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { Database } from '../postgres/database.ts';
import { readKeys } from '../queries/events.ts';
import {
  readUncertainSubscriptions,
  type UncertainSubscription,
} from '../queries/subscriptions.ts';
import { keysOfSecond } from '../stripe/event-key.ts';
import { makeSnapshot } from '../stripe/subscription-snapshot.ts';
import type { Job } from './worker.ts';

export type AmbiguousOrderOptions = {
  readonly query: Database['query'];
  readonly ingest: Ingest;
  readonly retrieveSubscription: (subscriptionId: string) => Promise<Json | null>;
  readonly now: () => number;
  readonly nonce: () => string;
};

const BATCH = 50;

/** Stripe does not know a subscription of a test fixture, and will not know it in a minute. */
const UNKNOWN_LIFETIME_MS = 60 * 60 * 1_000;

/**
 * Looks at Stripe's API where the events of one second leave open which came last, and applies
 * the answer fenced: only if nothing has come since the look began. Without an answer the mark
 * stays, and nothing waits for it.
 */
export function createAmbiguousOrderJob(options: AmbiguousOrderOptions): Job['run'] {
  const { query, ingest, retrieveSubscription, now, nonce } = options;
  const unknown = new Map<string, number>();

  async function look({ subscriptionId, createdSeconds }: UncertainSubscription): Promise<void> {
    const observedKeys = new Set(
      await readKeys(query, keysOfSecond(createdSeconds, subscriptionId)),
    );
    const takenAtMs = now();
    const subscription = await retrieveSubscription(subscriptionId);
    const options = { createdSeconds, observedKeys, takenAtMs, nonce };
    const made = subscription === null ? null : makeSnapshot(subscription, options);
    if (made === null) unknown.set(subscriptionId, takenAtMs + UNKNOWN_LIFETIME_MS);
    else await ingest([{ ...made.event, body: made.body, receivedAtMs: takenAtMs, source: 'log' }]);
  }

  return async (signal) => {
    for (const [subscriptionId, untilMs] of unknown) {
      if (untilMs <= now()) unknown.delete(subscriptionId);
    }
    const marked = await readUncertainSubscriptions(query, BATCH + unknown.size);
    for (const subscription of marked) {
      if (signal.aborted) return;
      if (!unknown.has(subscription.subscriptionId)) await look(subscription);
    }
  };
}
