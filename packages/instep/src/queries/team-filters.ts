import { STATUSES } from '../core/status.ts';
import { problemsOf } from '../postgres/statements/findings.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';

/** The problems of teams that a list can be filtered by. */
export const TEAM_PROBLEMS = [
  'out of sync',
  'changed by hand',
  'plan refused',
  'unknown customer',
  'unknown order',
  'parked events',
  'plan without a name',
] as const;

export type TeamProblem = (typeof TEAM_PROBLEMS)[number];

/** The values by which teams are counted and filtered. */
export type FilterValues = {
  /** `none`: never had a subscription; `other`: a status of the application's own. */
  readonly status: string;
  /** The plan that the team has or had. */
  readonly plan: string | null;
  readonly product: string | null;
  readonly problems: readonly TeamProblem[];
};

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');

// As text, because the column can have a type and values of the application's own.
const STATUS = `
  case
    when teams.subscription_status is null then 'none'
    when teams.subscription_status::text in (${quoted(Object.keys(STATUSES))})
      then teams.subscription_status::text
    else 'other'
  end`;

/** Whether the last comparison found a problem of this kind. */
const isFound = (kind: TeamProblem) => `
    exists (
      select
        from instep.findings as finding
       where finding.customer_id = teams.provider_customer_id
         and finding.team_id = teams.id::text
         and finding.problem in (${quoted(problemsOf(kind))})
    )`;

const PROBLEMS: Readonly<Record<TeamProblem, string>> = {
  'out of sync': isFound('out of sync'),
  'changed by hand': isFound('changed by hand'),
  'plan refused': isFound('plan refused'),
  'unknown customer': isFound('unknown customer'),
  'unknown order': `
    exists (
      select
        from instep.subscriptions as state
       where state.is_order_ambiguous
         and state.customer_id = teams.provider_customer_id
    )`,
  'parked events': `
    exists (
      select
        from instep.events as event
       where event.outcome = 'parked'
         and event.customer_id = teams.provider_customer_id
    )`,
  'plan without a name': 'teams.provider_product_id is not null and teams.plan_name is null',
};

/** SQL for each of these values, of rows of `teams` with `LOST_PLAN`. */
export const FILTER_VALUES: Readonly<Record<keyof FilterValues, string>> = {
  status: STATUS,
  plan: 'coalesce(teams.plan_name::text, lost_plan_name)',
  product: 'coalesce(teams.provider_product_id::text, lost_product_id)',
  problems: `array_remove(array[${TEAM_PROBLEMS.map((problem) => `case when ${PROBLEMS[problem]} then '${problem}' end`).join(', ')}], null)`,
};

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

/** The condition that a team has this problem. */
export function hasProblem(problem: TeamProblem): string {
  return PROBLEMS[problem];
}

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
