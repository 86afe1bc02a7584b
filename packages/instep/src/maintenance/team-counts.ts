// The job that counts the teams by what they can be filtered by, and the reader of its counts. The console's
// filters and operate/health.ts read them; find-teams.ts shares the SQL of the filters.

import type { ApplicationId } from '../core/application.ts';
import { STATUSES } from '../core/status.ts';
import { HAS_ISSUE, TEAM_ISSUES, type TeamIssueCode } from '../health/issues.ts';
import type { Query } from '../postgres/database.ts';
import { examineTeams, pagesOf } from '../postgres/examine.ts';
import { JOIN_LOST_PLAN } from '../postgres/statements/subscriptions.ts';
import type { DatabaseContext } from './consumers.ts';
import { IS_COMPARED } from './first-subscriptions.ts';
import type { LeasedRun } from './lease.ts';

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

/** SQL for each of these values, of rows of `teams` with `JOIN_LOST_PLAN`. */
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
  /** The teams with a customer, and those of them that are not compared with Stripe yet. */
  readonly linked: number;
  readonly uncompared: number;
};

/** More are not counted separately: there can be as many plans as teams. */
const MAX_GROUPS = 500;

type CountedGroup = TeamGroup & Pick<TeamCounts, 'linked' | 'uncompared'>;

const COUNT_TEAMS = `
      found as (
        select ${FILTER_VALUES.status} as status,
               ${FILTER_VALUES.plan} as plan,
               ${FILTER_VALUES.product} as product,
               ${FILTER_VALUES.issues} as issues,
               count(*) as teams,
               count(provider_customer_id) as linked,
               count(provider_customer_id) filter (where not ${IS_COMPARED}) as uncompared
          from examined as teams ${JOIN_LOST_PLAN}
         group by 1, 2, 3, 4
      )`;

type CountTeamsOptions = {
  readonly query: Query;
  readonly now: () => number;
  /** How many teams one statement counts; thousands by default. */
  readonly limit?: number;
};

/** Counts the teams page by page, each once, and saves the result as the progress of the job `team-counts`. */
export async function countTeams(
  run: Pick<LeasedRun, 'complete'>,
  { query, now, limit }: CountTeamsOptions,
  signal: AbortSignal,
): Promise<void> {
  const countedAtMs = now();
  const groups = new Map<string, TeamGroup>();
  let linked = 0;
  let uncompared = 0;
  const pages = pagesOf<CountedGroup, ApplicationId>((afterId) =>
    examineTeams(query, { name: 'count_teams', found: () => COUNT_TEAMS, afterId, limit }),
  );
  for await (const page of pages) {
    for (const { linked: ofLinked, uncompared: ofUncompared, ...group } of page) {
      add(groups, group);
      linked += ofLinked;
      uncompared += ofUncompared;
    }
    if (signal.aborted) return;
  }
  const byTeams = [...groups.values()].sort((one, other) => other.teams - one.teams);
  await run.complete({ countedAtMs, groups: byTeams, linked, uncompared });
}

/** Adds to a group, or to one without a plan when there are too many. Once a group is there, it has all of its teams. */
function add(groups: Map<string, TeamGroup>, group: TeamGroup): void {
  const { status, plan, product, issues, teams } = group;
  const key = JSON.stringify([status, plan, product, issues]);
  const known = groups.get(key);
  if (known !== undefined) groups.set(key, { ...known, teams: known.teams + teams });
  else if (groups.size < MAX_GROUPS || (plan === null && product === null)) groups.set(key, group);
  else add(groups, { ...group, plan: null, product: null });
}

/**
 * The number of teams by status, plan, product and issues, as the job `team-counts` last counted them; `null`
 * before its first run.
 *
 * @example
 * ```ts
 * for (const { status, plan, teams } of (await readTeamCounts(context))?.groups ?? []) {
 *   console.log(status, plan, teams);
 * }
 * ```
 */
export async function readTeamCounts({
  database: { query },
}: DatabaseContext): Promise<TeamCounts | null> {
  const [row] = await query<{ counts: TeamCounts }>({
    name: 'read_team_counts',
    text: `
      select progress as counts
        from instep.leased_jobs
       where name = 'team-counts'
         and progress is not null`,
  });
  return row?.counts ?? null;
}
