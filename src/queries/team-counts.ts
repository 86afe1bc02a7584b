import type { Query } from '../postgres/database.ts';

/** The teams by their status, as they were counted last. */
export type TeamCounts = {
  readonly countedAtMs: number;
  /** `none`: never had a subscription; `other`: a status that the application has given. */
  readonly byStatus: Readonly<Record<string, number>>;
};

/** So often teams are counted in all instances together, unless that takes long. */
const INTERVAL = '10 seconds';

/**
 * Counts the teams by their status, if it is this caller's turn. The table is the application's: it
 * may be a large one without an index, or a view. So no more than a hundredth of the time goes by
 * with counting.
 */
export async function countTeamsInTurn(query: Query): Promise<void> {
  const claimed = await query(
    `update instep.team_counts
        set counted_at = now()
      where counted_at < now() - greatest(took * 100, interval '${INTERVAL}')
     returning counted_at`,
  );
  if (claimed.length === 0) return;
  await query(
    // As text: the application's column may be of a type of its own, which knows not all of these.
    `with counted as materialized (
       select case
                when status is null then 'none'
                when status in ('active', 'trialing', 'past_due', 'unpaid', 'canceled',
                                'incomplete', 'incomplete_expired', 'paused') then status
                else 'other'
              end as known_status,
              count(*) as teams
         from teams
        cross join lateral (select subscription_status::text as status) as as_text
        group by known_status
     )
     update instep.team_counts
        set by_status = (select coalesce(jsonb_object_agg(known_status, teams), '{}') from counted),
            took      = clock_timestamp() - statement_timestamp()`,
  );
}

/** What was counted last; `null` before the first time. */
export async function readTeamCounts(query: Query): Promise<TeamCounts | null> {
  const [row] = await query<{ counted_at: Date; by_status: Record<string, number> | null }>(
    `select counted_at, by_status
       from instep.team_counts`,
  );
  if (row === undefined || row.by_status === null) return null;
  return { countedAtMs: row.counted_at.getTime(), byStatus: row.by_status };
}
