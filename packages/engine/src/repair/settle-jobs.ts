// The jobs that find customers whose teams lack what their state says, and give it to them: teams that were linked or
// created after the events, plans by other settings, and names that became known only after the plans.

import type { Settle } from '../log/pipeline.ts';
import type { Query } from '../postgres/database.ts';
import { type DuePage, type Examined, findCustomers } from '../postgres/examine.ts';
import { readEmptyTeams } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import type { CustomerState } from '../rule/customer-state.ts';
import type { PlanInRow } from '../rule/plan-fields.ts';
import { PLAN_SELECTIONS, type PlanSelection } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { createRepairJob, type RepairOptions, readDue } from './repair-job.ts';

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
  const job = (name: string, find: (page: DuePage) => Promise<Examined<string>>, repair = settle) =>
    createRepairJob({ ...SETTLED_AT_ONCE, name, find, repair: (id) => repair(id) }, options);
  // Also where a column that can't be null still has the name of an earlier plan.
  const nameTeams = (customerId: string) =>
    settle(customerId, { cause: 'name', isReplaced: isFromInstep });
  return [
    job('parked-events', (page) => readCustomersOfParkedEvents(query, page)),
    job('empty-teams', (page) => readEmptyTeams(query, page)),
    job('access-rules', (page) => readCustomersOfOtherRules(query, planSelection, page)),
    job('plan-names', (page) => readNamelessCustomers(query, page), nameTeams),
  ];
}

const WAITING_AFTER = () => `
        select customer_id
          from instep.customers
         where waiting is not null
           and ${isAfter('text', '$1::text', 'customer_id')}`;

const WITH_TEAM = ({ teams }: ApplicationTables) => `
        select customer_id
          from examined
         where customer_id <> all ($2::text[])
           and exists (
                 select from ${teams.rows} as teams where provider_customer_id = customer_id
               )
         limit $3`;

/** Those of the next customers with events that waited for a team who have one. Nearly all wait if products share an account. */
export async function readCustomersOfParkedEvents(
  query: Query,
  page: DuePage,
): Promise<Examined<string>> {
  const name = 'read_customers_of_parked_events';
  const search = { name, rows: WAITING_AFTER, key: 'customer_id', due: WITH_TEAM };
  return await findCustomers(query, search, page);
}

/** The next customers whose access was decided by other rules than these: the configuration has changed since. */
async function readCustomersOfOtherRules(
  query: Query,
  planSelection: PlanSelection,
  { limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  const others = PLAN_SELECTIONS.filter((other) => other !== planSelection);
  return await readDue(query, {
    name: 'read_customers_of_other_rules',
    text: `
      select customer_id as id
        from instep.customers
       where access_rules = any ($1::text[])
         and customer_id <> all ($2::text[])
       limit $3`,
    values: [others, exceptIds, limit],
  });
}

/** The next customers whose plan lacks the name of its product, which is known by now. */
async function readNamelessCustomers(
  query: Query,
  { limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  return await readDue(query, {
    name: 'read_nameless_customers',
    text: `
      select customer_id as id
        from instep.customers
        join instep.products on product_id = provider_product_id
       where is_nameless
         and name is not null
         and customer_id <> all ($1::text[])
       limit $2`,
    values: [exceptIds, limit],
  });
}
