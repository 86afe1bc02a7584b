// The read: the state of a batch's customers and the rows of their teams, without a lock.

import type { ApplicationId } from '../postgres/application.ts';
import type { TextRow } from '../postgres/statement.ts';
import { planJson, type TeamsTable, teamValue } from '../postgres/teams-table.ts';
import { type CustomerState, NO_STATE } from '../rule/customer-state.ts';
import type { PlanInRow } from '../rule/plan-fields.ts';
import { readState } from '../rule/state-json.ts';

export type StoredCustomer = {
  readonly customerId: string;
  /** Every write raises it; 0: the customer has no row. */
  readonly version: number;
  readonly state: CustomerState;
  /** What waits for a team: nothing, `events` that would not change its plan, or a `plan`. */
  readonly waiting: Waiting | null;
  /** In the order of their ids. */
  readonly teams: readonly StoredTeam[];
};

export type Waiting = 'events' | 'plan';

/** A team of the customer. */
export type StoredTeam = { readonly id: ApplicationId; readonly plan: PlanInRow };

/** Customer by customer (`offset 0` keeps the planner from joining), so that no plan reads a whole table. */
export function readCustomersText(teams: TeamsTable): string {
  const plan = planJson(teams, (field) => teamValue(teams, field));
  return `
select asked.customer_id, customer.version::text, customer.subscriptions::text, customer.waiting,
       team_id, plan
  from unnest($1::text[]) as asked (customer_id)
  left join lateral (
         select version, subscriptions, waiting
           from instep.customers
          where customer_id = asked.customer_id
         offset 0
       ) as customer on true
  left join lateral (
         select teams.${teams.id.column}::text as team_id, teams.${teams.id.column} as team_order,
                ${plan}::text as plan
           from ${teams.name} as teams
          where teams.${teams.customerId} = asked.customer_id
         offset 0
       ) as team on true
 order by asked.customer_id, team_order`;
}

export type CustomerRow = TextRow<'version' | 'subscriptions' | 'team_id' | 'plan'> & {
  readonly customer_id: string;
  readonly waiting: Waiting | null;
};

/** The customers of these rows, one for each team, in the order of their ids. @throws StateNewer, StateUnreadable */
export function customersIn(
  rows: readonly CustomerRow[],
  idType: TeamsTable['id']['type'],
): readonly StoredCustomer[] {
  const customers = new Map<string, StoredCustomer>();
  for (const row of rows) {
    const { customer_id: customerId, team_id: id, plan } = row;
    const customer = customers.get(customerId) ?? customerIn(row);
    const team: StoredTeam[] =
      id === null || plan === null
        ? []
        : [{ id: applicationId(id, idType), plan: JSON.parse(plan) }];
    customers.set(customerId, { ...customer, teams: [...customer.teams, ...team] });
  }
  return [...customers.values()];
}

/** A `bigint` within the range of a number is one. */
function applicationId(id: string, type: TeamsTable['id']['type']): ApplicationId {
  return type === 'bigint' && Number.isSafeInteger(Number(id)) ? Number(id) : id;
}

/** Without its teams. */
function customerIn(row: CustomerRow): StoredCustomer {
  const { version, subscriptions, waiting } = row;
  return {
    customerId: row.customer_id,
    version: Number(version ?? 0),
    state: subscriptions === null ? NO_STATE : readState(subscriptions),
    waiting,
    teams: [],
  };
}
