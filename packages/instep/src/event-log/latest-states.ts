import { EventHistory } from '../core/event-history.ts';
import {
  type LatestState,
  type LatestStates,
  latestOf,
  NO_LATEST_STATES,
} from '../core/latest-state.ts';
import { type Customer, NO_SUBSCRIPTIONS } from '../core/plan-selection.ts';
import { haveSameFields, type SubscriptionChange } from '../core/subscription-event.ts';
import type { Query } from '../postgres/database.ts';
import { readEventsOfCustomer } from '../postgres/statements/events.ts';
import { noteStatesFromLog, writeLatestStates } from '../postgres/statements/latest-states.ts';
import { lockAvailableTeams } from '../postgres/statements/lock-teams.ts';
import { readCustomers } from '../postgres/statements/subscriptions.ts';
import { parseLog } from './decisions.ts';

/**
 * The latest states that a customer's decided events yield and that differ from the stored ones. Events received before
 * `prunedBeforeMs` may have been pruned; `null`: none were. Pure.
 */
export function outdatedStates(
  changes: readonly SubscriptionChange[],
  customer: Customer,
  stored: LatestStates,
  prunedBeforeMs: number | null,
): LatestState[] {
  const history = new EventHistory(changes);
  const subscriptions = new Map(
    changes.map(({ subscription }) => [subscription.subscriptionId, subscription]),
  );
  return [...subscriptions].flatMap(([subscriptionId, subscription]) => {
    const deciding = customer.get(subscriptionId)?.deciding ?? null;
    const known = stored.get(subscriptionId);
    const evidence = { history, deciding, stored: known };
    const state = latestOf(history.eventsOf(subscription), evidence);
    if (known === undefined || known.latest.status !== state.latest.status) return [state];
    // The event that the status followed can have been pruned, and an older one not.
    const canBePruned = prunedBeforeMs !== null && state.sinceSeconds * 1_000 < prunedBeforeMs;
    const sinceSeconds = canBePruned
      ? Math.max(state.sinceSeconds, known.sinceSeconds)
      : state.sinceSeconds;
    const isSame =
      haveSameFields(state.latest, known.latest) && sinceSeconds === known.sinceSeconds;
    return isSame ? [] : [{ ...state, sinceSeconds }];
  });
}

/**
 * Reads the latest states of a customer's subscriptions from the log, in place of the rows that a migration made. It
 * locks the customer's teams. Returns `false`, and does nothing, while another transaction has locked one.
 */
export async function readLatestStatesFromLog(query: Query, customerId: string): Promise<boolean> {
  const { lockedCustomerIds } = await lockAvailableTeams(query, [customerId]);
  if (lockedCustomerIds.has(customerId)) return false;
  // First, because it locks the rows, and a customer can get a team meanwhile. It also marks the row of a subscription
  // whose events are gone.
  await noteStatesFromLog(query, customerId);
  const log = parseLog(await readEventsOfCustomer(query, customerId));
  const { customers } = await readCustomers(query, [customerId]);
  const changes = log.map(({ change }) => change);
  const customer = customers.get(customerId) ?? NO_SUBSCRIPTIONS;
  await writeLatestStates(query, outdatedStates(changes, customer, NO_LATEST_STATES, null));
  return true;
}
