// The columns of a customer's row besides its plan: write-text.ts names them, write.ts sends them.

import { accessRulesText, chargedTwice, dueSinceSeconds } from '../rule/access-facts.ts';
import { ambiguousReport } from '../rule/customer-state.ts';
import { selectedReport } from '../rule/plan-selection.ts';
import { rankOf } from '../rule/status.ts';
import type { CustomerDecision } from './decide.ts';

type CustomerColumn = readonly [
  name: string,
  type: 'text' | 'text[]' | 'bigint' | 'boolean' | 'timestamptz',
  /** A time is in seconds since 1970. */
  read: (
    decision: CustomerDecision,
  ) => string | readonly string[] | number | boolean | null | undefined,
];

export const CUSTOMER_COLUMNS: readonly CustomerColumn[] = [
  [
    'subscription_ids',
    'text[]',
    ({ state }) => [...state.subscriptions.keys()].filter((id) => id !== null),
  ],
  ['access_rules', 'text', ({ accessRules }) => accessRulesText(accessRules)],
  ['access_subscription_id', 'text', ({ access }) => access?.latest.plan.providerSubscriptionId],
  ['access_status', 'text', ({ access }) => access?.latest.status],
  ['access_product_id', 'text', ({ access }) => access?.latest.plan.providerProductId],
  ['access_plan_name', 'text', ({ access }) => access?.latest.plan.planName],
  ['access_quantity', 'bigint', ({ access }) => access?.latest.plan.quantity],
  ['access_period_ends_at', 'timestamptz', ({ access }) => access?.latest.plan.currentPeriodEndsAt],
  ['access_trial_ends_at', 'timestamptz', ({ access }) => access?.latest.plan.trialEndsAt],
  ['access_cancels_at_end', 'boolean', ({ access }) => access?.latest.plan.cancelAtPeriodEnd],
  ['access_since', 'timestamptz', ({ access }) => access?.sinceSeconds],
  ['access_ends_at', 'timestamptz', ({ access }) => access?.endsAtSeconds],
  ['access_is_paused', 'boolean', ({ access }) => access?.latest.isCollectionPaused],
  ['access_grants_plan', 'boolean', ({ access }) => access?.grantsPlan],
  [
    'grants_plan',
    'boolean',
    ({ state }) => rankOf(selectedReport(state, 'best')?.status ?? '') > 0,
  ],
  [
    'ambiguous_subscription_id',
    'text',
    ({ state }) => ambiguousReport(state)?.plan.providerSubscriptionId,
  ],
  ['ambiguous_since', 'timestamptz', ({ state }) => ambiguousReport(state)?.createdSeconds],
  ['had_team', 'boolean', ({ customer }) => customer.teams.length > 0],
  ['waiting', 'text', ({ waiting }) => waiting],
  ['charged_twice', 'text[]', ({ state }) => chargedTwice(state)],
  ['due_since', 'timestamptz', ({ state }) => dueSinceSeconds(state)],
];
