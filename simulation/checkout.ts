import type { TeamRecord } from './expected-team.ts';
import type { TrueEvent } from './lifecycle/history.ts';

/**
 * The row that an application writes after a checkout: the active plan of an event's subscription, or of a
 * new one without events.
 */
export function checkoutRecord(
  { customerId, subscriptionId, productId, productName }: TrueEvent,
  isNew: boolean,
): TeamRecord {
  return {
    providerSubscriptionId: isNew ? `sub_new_${customerId}` : subscriptionId,
    providerProductId: productId,
    planName: productName,
    subscriptionStatus: 'active',
  };
}
