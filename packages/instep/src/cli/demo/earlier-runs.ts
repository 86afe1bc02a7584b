import type { Query } from '../../postgres/database.ts';
import { type LinkedTeam, readLinkedTeams } from '../../postgres/statements/teams.ts';
import type { ApiObject } from '../../testing/api-collection.ts';
import type { FakeStripeApi } from '../../testing/fake-stripe-api.ts';
import { createSubscriptionEvent } from '../../testing/subscription-event.ts';

const MAX_TEAMS = 10_000;

/**
 * Adds the customers of earlier demos on the same database to the stand-in for Stripe's API, each
 * with its team's subscription. Otherwise reconciliation would report drift for all of them.
 */
export async function restoreEarlierRuns(query: Query, stripe: FakeStripeApi): Promise<void> {
  for (const team of await readLinkedTeams(query, { afterId: null, limit: MAX_TEAMS })) {
    stripe.customers.set({ id: team.customerId });
    const subscription = subscriptionOf(team);
    if (subscription !== null) stripe.subscriptions.set(subscription);
  }
}

function subscriptionOf({ customerId, plan }: LinkedTeam): ApiObject | null {
  const {
    subscriptionStatus: status,
    providerProductId: productId,
    providerSubscriptionId: subscriptionId,
  } = plan;
  if (!status || !productId || !subscriptionId) return null;
  const fields = { customerId, subscriptionId, productId, status, createdSeconds: 0 };
  return createSubscriptionEvent(fields).data.object;
}
