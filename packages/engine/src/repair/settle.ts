// Gives teams that were linked, created or recreated after their customer's events the plan that they should have.

import type { EventLog } from '../log/event-log.ts';
import type { Database } from '../postgres/statement.ts';
import { fieldsOf, type TeamsTable, teamField } from '../postgres/teams-table.ts';

type SettleOptions = {
  readonly database: Database;
  readonly teams: TeamsTable;
  readonly deadlineMs: number;
};

/**
 * SQL for customers to settle: those with events that waited for a team and have one now, and those with a team whose plan
 * columns are all empty. The write then decides under the locks, so a plan that the application wrote meanwhile stays.
 */
const findUnsettledText = (teams: TeamsTable) => `
(select customer_id
   from instep.customers
  where waiting is not null
    and exists (select from ${teams.name} as teams where teams.${teams.customerId} = customer_id)
  limit $1)
 union
(select customers.customer_id
   from ${teams.name} as teams
   join instep.customers on customers.customer_id = teams.${teams.customerId}
  where customers.subscription_status is not null
    and num_nonnulls(${fieldsOf(teams)
      .map((field) => teamField(teams, field))
      .join(', ')}) = 0
  limit $1)`;

/** Settles some of the customers. Returns how many; one that is locked is left for the next call. */
export async function settle(
  log: EventLog,
  { database, teams, deadlineMs }: SettleOptions,
  limit = 100,
): Promise<number> {
  const text = findUnsettledText(teams);
  const statement = { name: 'find_unsettled', text, values: [limit] };
  const rows = await database.run<{ customer_id: string }>(statement, deadlineMs);
  return await log.settle(rows.map(({ customer_id }) => customer_id));
}
