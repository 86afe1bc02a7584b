// Gives teams the names of their plans that became known only after the plans. createSettleJob finds them and tries again.

import type { Database, Query } from '../postgres/database.ts';
import type { Examined } from '../postgres/examine.ts';
import { writeCurrentPlan } from '../postgres/statements/current-plan.ts';
import { type DuePage, lockTeam, readTeamsOf } from '../postgres/statements/teams.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import type { PlanSelection } from '../rule/plan-selection.ts';

/** The next customers whose plan lacks the name of its product, which is known by now. */
export async function readNamelessCustomers(
  query: Query,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  const rows = await query<{ customerId: string }>({
    name: 'read_nameless_customers',
    text: `
      select customer_id as "customerId"
        from instep.customers
        join instep.products on product_id = provider_product_id
       where is_nameless
         and name is not null
         and ${isAfter('text', '$1::text', 'customer_id')}
         and customer_id <> all ($2::text[])
       order by customer_id
       limit $3`,
    values: [afterId, exceptIds, limit],
  });
  const found = rows.map(({ customerId }) => customerId);
  return { found, examinedTo: found.length < limit ? null : (found.at(-1) ?? null) };
}

/** A plan that has its name, or whose name the application refuses, is not found again. */
const NAME_PLAN = `
      update instep.customers
         set plan_name = name
        from instep.products
       where customer_id = $1
         and product_id = provider_product_id
         and is_nameless`;

/**
 * Writes the name of the plan to the teams of a customer.
 *
 * @throws DatabaseBusy when another transaction has locked a team; DatabaseRefused
 */
export async function nameTeams(
  database: Pick<Database, 'transaction'>,
  customerId: string,
  planSelection: PlanSelection,
): Promise<boolean> {
  return await database.transaction(async (query) => {
    for (const { id } of await readTeamsOf(query, [customerId])) {
      const team = await lockTeam(query, id, 'no key update nowait');
      if (team?.customerId !== customerId) continue;
      await writeCurrentPlan(query, team, { planSelection, cause: 'name' });
    }
    await query({ name: 'name_plan', text: NAME_PLAN, values: [customerId] });
    return true;
  });
}
