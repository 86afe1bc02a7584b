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

/** The groups are joined, because PostgreSQL would read the clock before a subquery of the assignment. */
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
      update instep.team_counts
         set groups = finished.groups,
             took   = clock_timestamp() - statement_timestamp()
        from (select coalesce(jsonb_agg(to_jsonb(grouped)), '[]') as groups from grouped) as finished`;

/**
 * Counts the teams, unless an instance did so within the last 10 seconds. The application's table can be
 * large, without an index, or a view, so counting takes up to 1% of the time. A claim assumes twice the time
 * of the last count, up to 36 seconds, so that counts that fail become rarer, up to one an hour.
 */
export async function countTeamsInTurn(query: Query): Promise<void> {
  const claimed = await query({
    name: 'claim_team_count',
    text: `
      update instep.team_counts
         set counted_at = now(),
             took       = least(greatest(took * 2, interval '100 milliseconds'), interval '36 seconds')
       where counted_at < now() - greatest(took * 100, interval '10 seconds')
      returning counted_at`,
  });
  if (claimed.length === 0) return;
  await query({
    name: 'count_teams',
    text: COUNT_TEAMS,
  });
}

/** The last count; `null` before the first one. */
export async function readTeamCounts(query: Query): Promise<TeamCounts | null> {
  const [row] = await query<TeamCounts>({
    name: 'read_team_counts',
    text: `
      select (extract(epoch from counted_at) * 1000)::bigint as "countedAtMs",
             groups
        from instep.team_counts
       where groups is not null`,
  });
  return row ?? null;
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
