import type { Query } from '../../postgres/database.ts';
import { type LinkedTeam, readLinkedTeams } from '../../queries/teams.ts';
import type { ApiObject, Collection } from '../../testing/stripe-api/collection.ts';
import { makeSubscriptionEvent } from '../../testing/subscription-event.ts';

export type StripeObjects = { readonly subscriptions: Collection; readonly customers: Collection };

/** More are nobody's demonstrations. */
const MAX_TEAMS = 10_000;

/**
 * Lets Stripe's stand-in know the customers of earlier demonstrations on the same database, each with
 * what its team has: otherwise a reconciliation would find little else.
 */
export async function rememberEarlier(query: Query, stripe: StripeObjects): Promise<void> {
  for (const team of await readLinkedTeams(query, { afterId: 0, limit: MAX_TEAMS })) {
    stripe.customers.set({ id: team.customerId });
    const subscription = subscriptionOf(team);
    if (subscription !== null) stripe.subscriptions.set(subscription);
  }
}

function subscriptionOf({ customerId, plan }: LinkedTeam): ApiObject | null {
  const { subscriptionStatus, providerProductId, providerSubscriptionId } = plan;
  if (!subscriptionStatus || !providerProductId || !providerSubscriptionId) return null;
  const { data } = makeSubscriptionEvent({
    eventId: '',
    type: '',
    createdSeconds: 0,
    customerId,
    subscriptionId: providerSubscriptionId,
    status: subscriptionStatus,
    productId: providerProductId,
  });
  return data.object;
}
