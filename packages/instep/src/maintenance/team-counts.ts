import { STATUSES } from '../core/status.ts';
import { HAS_ISSUE, TEAM_ISSUES, type TeamIssueCode } from '../health/issues.ts';
import type { Query } from '../postgres/database.ts';
import { allTeamsWithLostPlans } from '../postgres/statements/subscriptions.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { IS_COMPARED } from './first-subscriptions.ts';

/** The values by which teams are counted and filtered. */
export type FilterValues = {
  /** `none`: never had a subscription; `other`: a status of the application's own. */
  readonly status: string;
  /** The plan that the team has or had. */
  readonly plan: string | null;
  readonly product: string | null;
  readonly issues: readonly TeamIssueCode[];
};

// As text, because the column can have a type and values of the application's own.
const STATUS = `
  case
    when teams.subscription_status is null then 'none'
    when teams.subscription_status::text in (${Object.keys(STATUSES)
      .map((name) => `'${name}'`)
      .join(', ')})
      then teams.subscription_status::text
    else 'other'
  end`;

/** SQL for each of these values, of rows of `teams` with `LOST_PLAN`. */
export const FILTER_VALUES: Readonly<Record<keyof FilterValues, string>> = {
  status: STATUS,
  plan: 'coalesce(teams.plan_name::text, lost_plan_name)',
  product: 'coalesce(teams.provider_product_id::text, lost_product_id)',
  issues: `array_remove(array[${TEAM_ISSUES.map((code) => `case when ${HAS_ISSUE[code]} then '${code}' end`).join(', ')}], null)`,
};

/** Teams that have all of these in common. */
export type TeamGroup = FilterValues & { readonly teams: number };

/** The teams as last counted. */
export type TeamCounts = {
  readonly countedAtMs: number;
  readonly groups: readonly TeamGroup[];
  /** The teams with a customer, and those of them that were never compared with Stripe. */
  readonly linked: number;
  readonly uncompared: number;
};

/** More groups than this are not counted separately. */
const MAX_GROUPS = 500;

const COUNT_TEAMS = (tables: ApplicationTables) => `
      with counted as (
        select ${FILTER_VALUES.status} as status,
               ${FILTER_VALUES.plan} as plan,
               ${FILTER_VALUES.product} as product,
               ${FILTER_VALUES.issues} as issues,
               count(*) as teams
          from ${allTeamsWithLostPlans(tables)}
         group by 1, 2, 3, 4
      ), ranked as (
        select *, row_number() over (order by teams desc) > ${MAX_GROUPS} as is_rare
          from counted
      ), grouped as (
        select status,
               case when not is_rare then plan end as plan,
               case when not is_rare then product end as product,
               issues,
               sum(teams) as teams
          from ranked
         group by 1, 2, 3, 4
      )
      select (extract(epoch from now()) * 1000)::bigint as "countedAtMs",
             coalesce(jsonb_agg(to_jsonb(grouped)), '[]') as groups,
             (
               select count(*) from ${tables.teams.rows} as teams where provider_customer_id is not null
             ) as linked,
             (
               select count(*)
                 from ${tables.teams.rows} as teams
                where provider_customer_id is not null
                  and not ${IS_COMPARED}
             ) as uncompared
        from grouped`;

/** Counts the teams. The job `team-counts` saves the result as its progress. */
export async function countTeams(query: Query): Promise<TeamCounts> {
  const [counts] = await query<TeamCounts>({ name: 'count_teams', text: COUNT_TEAMS });
  if (counts === undefined) throw new RangeError('an aggregate has one row');
  return counts;
}

/** The last count; `null` before the first one. */
export async function readTeamCounts(query: Query): Promise<TeamCounts | null> {
  const [row] = await query<{ counts: TeamCounts }>({
    name: 'read_team_counts',
    text: `
      select progress as counts
        from instep.leased_jobs
       where name = 'team-counts'
         -- An earlier version has not counted these.
         and progress ? 'uncompared'`,
  });
  return row?.counts ?? null;
}
