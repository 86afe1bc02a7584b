import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';

/** The teams by their status, as last counted. */
export type TeamCounts = {
  readonly countedAtMs: number;
  /** `none`: never had a subscription; `other`: a status of the application's own. */
  readonly byStatus: Readonly<Record<string, number>>;
};

// As text: the column can have a type of the application, and values of its own.
const COUNT_TEAMS = ({ teams }: ApplicationTables) => `
      with counted as materialized (
        select case
                 when plan.status is null then 'none'
                 when plan.status in ('active', 'trialing', 'past_due', 'unpaid', 'canceled',
                                      'incomplete', 'incomplete_expired', 'paused')
                   then plan.status
                 else 'other'
               end as known_status,
               count(*) as teams
          from ${teams.rows} as teams
         cross join lateral (select subscription_status::text as status) as plan
         group by known_status
      )
      update instep.team_counts
         set by_status = (select coalesce(jsonb_object_agg(known_status, teams), '{}') from counted),
             took      = clock_timestamp() - statement_timestamp()`;

/**
 * Counts the teams by their status, unless an instance did within the last 10 seconds. The table is
 * the application's, perhaps large and without an index, or a view: counting takes no more than a
 * hundredth of the time.
 */
export async function countTeamsInTurn(query: Query): Promise<void> {
  const claimed = await query({
    name: 'claim_team_count',
    text: `
      update instep.team_counts
         set counted_at = now()
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
             by_status as "byStatus"
        from instep.team_counts
       where by_status is not null`,
  });
  return row ?? null;
}
