// Teams without a plan whose customers pay: with TEAM_PLAN=newest, the end of one subscription counts more than another one
// that goes on. The list of issues and every reconciliation read them.

import { GRANTING_STATUSES } from '../../rule/status.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';

const GRANTING = GRANTING_STATUSES.map((status) => `'${status}'`).join(', ');

/** A plan that the app gave away is one. */
export const PAID_WITHOUT_PLAN = ({ teams }: ApplicationTables) => `
        from instep.customers as state
        join ${teams.rows} as teams on teams.provider_customer_id = state.customer_id
       where state.is_paid_without_plan
         and state.subscription_status not in (${GRANTING})
         and teams.provider_subscription_id is null
         and coalesce(teams.subscription_status not in (${GRANTING}), true)`;
