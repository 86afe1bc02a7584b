// The jobs that find customers whose teams lack what their state says, and give it to them: teams that were linked or
// created after the events, plans by other settings, and names that became known only after the plans.

import type { Settle } from '../log/pipeline.ts';
import { type DuePage, findCustomers, type Search } from '../postgres/examine.ts';
import type { NamedStatement } from '../postgres/statement.ts';
import { EMPTY_TEAMS } from '../postgres/statements/teams.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import type { CustomerState } from '../rule/customer-state.ts';
import type { PlanInRow } from '../rule/plan-fields.ts';
import { PLAN_SELECTIONS, type PlanSelection } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { createRepairJob, dueIn, HAS_TEAM, type Repair, type RepairOptions } from './repair-job.ts';

type SettleOptions = RepairOptions & {
  readonly settle: Settle;
  readonly planSelection: PlanSelection;
};

const isFromInstep = (plan: PlanInRow, state: CustomerState) =>
  planWriterOf(plan, state) === 'instep';

/** One whose plan is refused, or whose team is locked, is tried again soon. */
const SETTLED_AT_ONCE = { limit: 200, longestRestMs: 10_000 };

export function createSettleJobs({ settle, planSelection, ...options }: SettleOptions) {
  const { query } = options;
  const search = (searched: Search) => (page: DuePage) => findCustomers(query, searched, page);
  const others = PLAN_SELECTIONS.filter((other) => other !== planSelection);
  const repair = (customerId: string) => settle(customerId);
  // Also where a column that can't be null still has the name of an earlier plan.
  const nameTeams = (customerId: string) =>
    settle(customerId, { cause: 'name', isReplaced: isFromInstep });
  const jobs: readonly Pick<Repair, 'name' | 'find' | 'repair'>[] = [
    { name: 'parked-events', find: search(PARKED_EVENTS), repair },
    { name: 'empty-teams', find: search(EMPTY_TEAMS), repair },
    { name: 'access-rules', find: dueIn(query, { ...OTHER_RULES, values: [others] }), repair },
    { name: 'plan-names', find: dueIn(query, NAMELESS_CUSTOMERS), repair: nameTeams },
  ];
  return jobs.map((job) => createRepairJob({ ...job, ...SETTLED_AT_ONCE }, options));
}

/** Those of the next customers with events that waited for a team who have one. Nearly all wait if products share an account. */
export const PARKED_EVENTS: Search = {
  name: 'read_customers_of_parked_events',
  rows: () => `
        select customer_id
          from instep.customers
         where waiting is not null
           and ${isAfter('text', '$1::text', 'customer_id')}`,
  key: 'customer_id',
  due: (tables) => `
        select customer_id
          from examined
         where customer_id <> all ($2::text[])
           and ${HAS_TEAM(tables, 'examined.customer_id')}
         limit $3`,
};

/** The next customers whose access was decided by other rules than these (`$3`): the configuration has changed since. */
const OTHER_RULES: NamedStatement = {
  name: 'read_customers_of_other_rules',
  text: `
      select customer_id as id
        from instep.customers
       where access_rules = any ($3::text[])
         and customer_id <> all ($1::text[])
       limit $2`,
};

/** The next customers whose plan lacks the name of its product, which is known by now. */
const NAMELESS_CUSTOMERS: NamedStatement = {
  name: 'read_nameless_customers',
  text: `
      select customer_id as id
        from instep.customers
        join instep.products on product_id = provider_product_id
       where is_nameless
         and name is not null
         and customer_id <> all ($1::text[])
       limit $2`,
};
