// Keeps the state of a customer small, however many subscriptions have ended.

import type { CustomerState, SubscriptionState } from './customer-state.ts';
import { compareIds, grantsPlan, selectedReports } from './plan-selection.ts';
import { ENDED_STATUSES } from './status.ts';

export const MAX_SUBSCRIPTIONS = 20;

/**
 * The state without the subscriptions that ended longest ago, if there are too many. Those that grant a plan, decide it,
 * have not ended, or have an ambiguous order stay, whatever their number. When another event of a dropped one arrives,
 * the fold makes its state again from the log.
 */
export function bounded(state: CustomerState): CustomerState {
  const excess = state.subscriptions.size - MAX_SUBSCRIPTIONS;
  if (excess <= 0) return state;
  const selected = selectedReports(state);
  const isSelected = ({ deciding }: SubscriptionState) =>
    selected.some((reported) => reported === deciding?.reported);
  const droppable = [...state.subscriptions]
    .filter(([, subscription]) => isOver(subscription) && !isSelected(subscription))
    .sort(([id, a], [otherId, b]) => lastSeconds(a) - lastSeconds(b) || compareIds(id, otherId))
    .slice(0, excess);
  if (droppable.length === 0) return state;
  const subscriptions = new Map(state.subscriptions);
  for (const [id] of droppable) subscriptions.delete(id);
  return { subscriptions, hasDropped: true };
}

function isOver(subscription: SubscriptionState): boolean {
  const { latest, deciding } = subscription;
  const hasEnded = ENDED_STATUSES.includes(latest.reported.status);
  return hasEnded && !grantsPlan(subscription) && !deciding?.isAmbiguous;
}

function lastSeconds({ latest }: SubscriptionState): number {
  return latest.reported.createdSeconds;
}
