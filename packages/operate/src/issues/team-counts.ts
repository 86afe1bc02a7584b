// Counts the teams on request: by status, and those that are compared with Stripe. For health.ts, whose evidence
// it is.

import type { ApplicationTables, Database } from 'instep-engine/postgres';
import { STATUSES } from 'instep-engine/rule';
import { readInTime } from '../runtime/read-in-time.ts';

/** The number of teams. */
export type TeamCounts = {
  /**
   * By status, the most frequent first. `none`: the team never had a subscription; `other`: a status of the
   * application's own.
   */
  readonly statuses: readonly { readonly status: string; readonly teams: number }[];
  /** The teams with a customer, and those of them about whom Stripe has not answered yet. */
  readonly linked: number;
  readonly uncompared: number;
};

/** SQL for the status of a row of `teams`: as text, because the column can have a type of the application's own. */
export const TEAM_STATUS = `
  case
    when teams.subscription_status is null then 'none'
    when teams.subscription_status::text in (${Object.keys(STATUSES)
      .map((name) => `'${name}'`)
      .join(', ')})
      then teams.subscription_status::text
    else 'other'
  end`;

const COUNT_TEAMS = ({ teams }: ApplicationTables) => `
      select ${TEAM_STATUS} as status,
             count(*) as teams,
             count(provider_customer_id) as linked,
             count(asked.asked_at) as compared
        from ${teams.rows} as teams
        left join instep.asked_customers as asked on asked.customer_id = provider_customer_id
       group by 1
       order by teams desc, status`;

/** A scrape of the metrics waits for it, with everything else that it reads, for a second at most. */
const TIMEOUT_MS = 500;

/** Counts all teams; `null` if they are too many to be counted in time, or if a lock on their table takes as long. */
export async function countTeams(
  database: Pick<Database, 'transaction'>,
): Promise<TeamCounts | null> {
  type Row = { status: string; teams: number; linked: number; compared: number };
  const statement = { name: 'count_teams', text: COUNT_TEAMS };
  const rows = await readInTime<Row>(database, statement, TIMEOUT_MS);
  if (rows === null) return null;
  const linked = rows.reduce((sum, row) => sum + row.linked, 0);
  return {
    statuses: rows.map(({ status, teams }) => ({ status, teams })),
    linked,
    uncompared: rows.reduce((sum, row) => sum - row.compared, linked),
  };
}
