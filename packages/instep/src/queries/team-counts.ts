import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { allTeamsWithLostPlans, FILTER_VALUES, type FilterValues } from './team-filters.ts';

/** Teams that have all of these in common. */
export type TeamGroup = FilterValues & { readonly teams: number };

/** The teams as last counted. */
export type TeamCounts = {
  readonly countedAtMs: number;
  readonly groups: readonly TeamGroup[];
};

/** More groups than this are not counted separately. */
const MAX_GROUPS = 500;

const COUNT_TEAMS = (tables: ApplicationTables) => `
      with counted as (
        select ${FILTER_VALUES.status} as status,
               ${FILTER_VALUES.plan} as plan,
               ${FILTER_VALUES.product} as product,
               ${FILTER_VALUES.problems} as problems,
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
               problems,
               sum(teams) as teams
          from ranked
         group by 1, 2, 3, 4
      )
      select (extract(epoch from now()) * 1000)::bigint as "countedAtMs",
             coalesce(jsonb_agg(to_jsonb(grouped)), '[]') as groups
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
         and progress is not null`,
  });
  return row?.counts ?? null;
}

/** The number of all teams. */
export function countAll(groups: readonly TeamGroup[]): number {
  return groups.reduce((sum, { teams }) => sum + teams, 0);
}

/** The number of teams for each value of a filter, the most frequent first. */
export function countBy(
  groups: readonly TeamGroup[],
  valuesOf: (group: TeamGroup) => readonly (string | null)[],
): [value: string, teams: number][] {
  const counts = new Map<string, number>();
  for (const group of groups) {
    for (const value of valuesOf(group)) {
      if (value !== null) counts.set(value, (counts.get(value) ?? 0) + group.teams);
    }
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}
