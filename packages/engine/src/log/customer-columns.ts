// The columns of a customer's row, besides its id, its version and its state: write-text.ts names them, write.ts sends them.

import { type ColumnValue, timeText } from '../postgres/teams-table.ts';
import { chargedTwice, dueSinceSeconds } from '../rule/access-facts.ts';
import { ambiguousReport } from '../rule/customer-state.ts';
import { selectedReport } from '../rule/plan-selection.ts';
import { rankOf } from '../rule/status.ts';
import type { CustomerDecision } from './decide.ts';

/** What SQL needs of a customer's state, by column. */
export const FACT_COLUMNS: Readonly<
  Record<string, (decision: CustomerDecision) => ColumnValue | null>
> = {
  subscription_ids: ({ state }) => [...state.subscriptions.keys()].filter((id) => id !== null),
  access_rules: ({ options }) => options.planSelection,
  access_subscription_id: ({ access }) => access?.latest.plan.providerSubscriptionId,
  access_status: ({ access }) => access?.latest.status,
  access_product_id: ({ access }) => access?.latest.plan.providerProductId,
  access_plan_name: ({ access }) => access?.latest.plan.planName,
  access_quantity: ({ access }) => access?.latest.plan.quantity,
  access_period_ends_at: ({ access }) => timeText(access?.latest.plan.currentPeriodEndsAt),
  access_trial_ends_at: ({ access }) => timeText(access?.latest.plan.trialEndsAt),
  access_cancels_at_end: ({ access }) => access?.latest.plan.cancelAtPeriodEnd,
  access_since: ({ access }) => timeText(access?.sinceSeconds),
  access_ends_at: ({ access }) => timeText(access?.endsAtSeconds),
  access_is_paused: ({ access }) => access?.latest.isCollectionPaused,
  access_grants_plan: ({ access }) => access?.grantsPlan,
  grants_plan: ({ state }) => rankOf(selectedReport(state, 'best')?.status ?? '') > 0,
  ambiguous_subscription_id: ({ state }) => ambiguousReport(state)?.plan.providerSubscriptionId,
  ambiguous_since: ({ state }) => timeText(ambiguousReport(state)?.createdSeconds),
  had_team: ({ customer }) => customer.teams.length > 0,
  waiting: ({ waiting }) => waiting,
  charged_twice: ({ state }) => chargedTwice(state),
  due_since: ({ state }) => timeText(dueSinceSeconds(state)),
};
