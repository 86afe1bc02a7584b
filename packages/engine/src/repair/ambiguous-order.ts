// Decides an ambiguous order of events by asking Stripe for the subscription: for the job that asks Stripe, and for an
// operator's action.

import type { Ingest } from '../log/pipeline.ts';
import type { Query } from '../postgres/database.ts';
import { readEventIds } from '../postgres/statements/events.ts';
import type { StripeApi } from '../stripe/api.ts';
import { lastShownSecond } from '../stripe/api-call.ts';
import { unlessRefused } from '../stripe/api-failure.ts';
import { tieGroupRangeAt } from '../stripe/event-key.ts';
import { makeSnapshot } from '../stripe/subscription-snapshot.ts';

export type OrderOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly retrieveSubscription: StripeApi['retrieveSubscription'];
  readonly now: () => number;
  readonly nonce: () => string;
};

/** The result of asking. `too early`: the second was not over yet by Stripe's clock. */
type OrderAnswer = 'answered' | 'order known' | 'unknown' | 'too early';

/**
 * Fetches a snapshot of a subscription whose order is ambiguous, and ingests it. It counts only if the second was over by
 * Stripe's clock, and if no other event of it has arrived since the request.
 */
export async function askForOrder(
  subscriptionId: string,
  { query, ingest, retrieveSubscription, now, nonce }: OrderOptions,
  signal: AbortSignal,
): Promise<OrderAnswer> {
  const createdSeconds = await readAmbiguousSecond(query, subscriptionId);
  if (createdSeconds === null) return 'order known';
  const seen = await readEventIds(query, [tieGroupRangeAt(createdSeconds, subscriptionId)]);
  const seenKeys = new Set(seen.map(({ key }) => key));
  const takenAtMs = now();
  const answer = await unlessRefused(retrieveSubscription(subscriptionId, signal));
  if (answer === null) return 'unknown';
  if (lastShownSecond(answer, now()) < createdSeconds) return 'too early';
  const dated = { createdSeconds, seenKeys, takenAtMs, nonce };
  const snapshot = makeSnapshot(answer.body, dated);
  if (snapshot === null) return 'unknown';
  await ingest([snapshot]);
  return 'answered';
}

/** The second of a subscription's events whose order is ambiguous; `null` when it is known. */
async function readAmbiguousSecond(query: Query, subscriptionId: string): Promise<number | null> {
  const [row] = await query<{ createdSeconds: number }>({
    name: 'read_ambiguous_second',
    text: `
      select extract(epoch from ambiguous_since)::bigint as "createdSeconds"
        from instep.customers
       where ambiguous_since is not null
         and ambiguous_subscription_id = $1`,
    values: [subscriptionId],
  });
  return row?.createdSeconds ?? null;
}
