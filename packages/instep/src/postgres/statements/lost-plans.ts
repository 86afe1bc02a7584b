import type { ApplicationTables } from '../tables/application-tables.ts';

/** Whether a team possibly lost a plan. */
const HAS_NONE = `
  (teams.provider_subscription_id is null
   and teams.provider_product_id is null
   and teams.plan_name is null
   and teams.subscription_status is not null)`;

/**
 * SQL that joins the plan that a team without a plan had before: that of the newest subscription with the
 * team's status.
 */
export const LOST_PLAN = `
        left join lateral (
               select state.product_id as lost_product_id,
                      coalesce(state.plan_name, product.name) as lost_plan_name
                 from instep.subscriptions as state
                 left join instep.products as product on product.product_id = state.product_id
                where ${HAS_NONE}
                  and state.customer_id = teams.provider_customer_id
                  and state.status = teams.subscription_status::text
                order by state.created_at desc
                limit 1
             ) as lost on true`;

/** All teams, with their lost plans. */
export function teamsWithLostPlans({ teams }: ApplicationTables): string {
  return `${teams.rows} as teams ${LOST_PLAN}`;
}

/** The same for a statement that reads all teams, without the join for teams that have a plan. */
export function allTeamsWithLostPlans({ teams }: ApplicationTables): string {
  return `
        (
          select teams.*, null as lost_product_id, null as lost_plan_name
            from ${teams.rows} as teams
           where not ${HAS_NONE}
           union all
          select teams.*, lost_product_id, lost_plan_name
            from ${teams.rows} as teams ${LOST_PLAN}
           where ${HAS_NONE}
        ) as teams`;
}
