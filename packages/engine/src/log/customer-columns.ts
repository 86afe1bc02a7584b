// The columns of a customer's row, besides its id, its version and its state: write-text.ts names them, write.ts sends them.

import { columnOf } from '../postgres/teams-table.ts';
import { accessRulesText, chargedTwice, dueSinceSeconds } from '../rule/access-facts.ts';
import { ambiguousReport } from '../rule/customer-state.ts';
import { PLAN_FIELDS, type PlanInRow } from '../rule/plan-fields.ts';
import { selectedReport } from '../rule/plan-selection.ts';
import { rankOf } from '../rule/status.ts';
import type { CustomerDecision } from './decide.ts';

type Value = string | readonly string[] | number | boolean | undefined;

/** A time as JSON has it. */
export const timeText = (seconds: number | null | undefined) =>
  typeof seconds === 'number' ? new Date(seconds * 1_000).toISOString() : undefined;

/** The columns of a plan, as JSON has them. A missing one is null. */
export function planColumns(plan: PlanInRow | null, suffix = ''): Record<string, Value> {
  const columns: Record<string, Value> = {};
  for (const field of PLAN_FIELDS) {
    const value = plan?.[field.name] ?? undefined;
    if (value === undefined) continue;
    columns[columnOf(field) + suffix] =
      typeof value === 'number' && field.type === 'timestamptz' ? timeText(value) : value;
  }
  return columns;
}

/** What SQL needs of a customer's state, by column. */
export const FACT_COLUMNS: Readonly<Record<string, (decision: CustomerDecision) => Value | null>> =
  {
    subscription_ids: ({ state }) => [...state.subscriptions.keys()].filter((id) => id !== null),
    access_rules: ({ options }) => accessRulesText(options),
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
