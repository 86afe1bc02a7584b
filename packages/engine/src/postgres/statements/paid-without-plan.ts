// Teams without a plan whose customers pay: with TEAM_PLAN=newest, the end of one subscription counts more than another one
// that goes on. The list of issues and every reconciliation read them.

import { selectedReport } from '../../rule/plan-selection.ts';
import { GRANTING_STATUSES } from '../../rule/status.ts';
import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { readStates } from './customers.ts';

const GRANTING = GRANTING_STATUSES.map((status) => `'${status}'`).join(', ');

/** A plan that the app gave away is one. */
export const PAID_WITHOUT_PLAN = ({ teams }: ApplicationTables) => `
        from instep.customers as state
        join ${teams.rows} as teams on teams.provider_customer_id = state.customer_id
       where state.is_paid_without_plan
         and state.subscription_status not in (${GRANTING})
         and teams.provider_subscription_id is null
         and coalesce(teams.subscription_status not in (${GRANTING}), true)`;

const READ_PAID_WITHOUT_PLAN = (tables: ApplicationTables) => `
      select state.customer_id as "customerId",
             teams.id as "teamId",
             (extract(epoch from state.access_since) * 1000)::bigint as "sinceMs"
      ${PAID_WITHOUT_PLAN(tables)}
         and ($1::text is null or state.customer_id = $1)
         and state.customer_id > $2
       order by state.customer_id
       fetch first $3 rows with ties`;

export type PaidWithoutPlan = {
  readonly customerId: string;
  readonly teamId: ApplicationId;
  /** Since when the other subscription has ended. */
  readonly sinceMs: number;
  /** The subscription that goes on. */
  readonly subscriptionId: string | null;
  readonly planName: string | null;
};

type Page = {
  /** Only the teams of this customer; all by default. */
  readonly customerId?: string | undefined;
  readonly afterCustomerId: string;
  readonly limit: number;
};

/** Reads a page in the order of the customers. It ends with the last team of a customer, so it can have more. */
export async function readPaidWithoutPlan(
  query: Query,
  { customerId, afterCustomerId, limit }: Page,
): Promise<PaidWithoutPlan[]> {
  const found = await query<Pick<PaidWithoutPlan, 'customerId' | 'teamId' | 'sinceMs'>>({
    name: 'read_paid_without_plan',
    text: READ_PAID_WITHOUT_PLAN,
    values: [customerId ?? null, afterCustomerId, limit],
  });
  if (found.length === 0) return [];
  const customerIds = found.map((one) => one.customerId);
  const states = await readStates(query, customerIds);
  return found.map((one) => {
    const plan = selectedReport(states.of(one.customerId), 'best')?.plan;
    const productId = plan?.providerProductId ?? null;
    const planName = plan?.planName ?? states.names.get(productId) ?? null;
    return { ...one, subscriptionId: plan?.providerSubscriptionId ?? null, planName };
  });
}
