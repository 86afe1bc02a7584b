import type { Customer, DecidedSubscription, Grant, Grants } from '../../core/plan-selection.ts';
import type { SubscriptionEvent } from '../../core/subscription-event.ts';
import type { Order } from '../../core/tie-group.ts';
import type { Query } from '../database.ts';
import { ASKED_CUSTOMERS } from '../statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';

export type StoredCustomers = {
  readonly customers: ReadonlyMap<string, Customer>;
  /** The known names of their products. */
  readonly names: ReadonlyMap<string, string>;
  /** The grants of their teams that were not closed. */
  readonly grants: Grants;
};

type StoredGrant = Grant & { readonly teamId: string };

/** SQL: whether the end of an open grant has come. */
export const IS_OVER = `coalesce(open_grant.ends_at <= now(), false)`;

// Read customer by customer, so that table statistics can't make the planner read the whole table. PostgreSQL looks for
// the customers' teams only if there is any grant.
const READ_CUSTOMERS = ({ teams }: ApplicationTables) => `
      select asked.customer_id as "customerId",
             nullif(subscription_id, '') as "subscriptionId",
             status,
             product_id as "productId",
             plan_name as "planName",
             extract(epoch from created_at)::bigint as "createdSeconds",
             case
               when is_order_ambiguous then 'ambiguous'
               when is_order_inferred then 'inferred'
               else 'known'
             end as "order",
             products.name as "productName",
             grants
        from ${ASKED_CUSTOMERS}
        left join lateral (
               select *
                 from instep.subscriptions
                where customer_id = asked.customer_id
               offset 0
             ) as state on true
        left join instep.products using (product_id)
        left join lateral (
               select jsonb_agg(
                        jsonb_build_object(
                          'teamId', open_grant.team_id,
                          'planName', open_grant.plan_name,
                          'productId', open_grant.product_id,
                          'isOver', ${IS_OVER}
                        )
                      ) as grants
                 from ${teams.rows} as teams
                 join instep.grants as open_grant
                   on open_grant.team_id = teams.id::text
                  and open_grant.closed_at is null
                where teams.provider_customer_id = asked.customer_id
                  and (select exists (select from instep.grants where closed_at is null))
             ) as granted on true`;

/**
 * The stored subscriptions of these customers, and the grants of their teams. The lock on a customer's team guards them.
 */
export async function readCustomers(
  query: Query,
  customerIds: readonly string[],
): Promise<StoredCustomers> {
  type Row = (
    | (SubscriptionEvent & { order: Order })
    | { customerId: string; status: null; order: Order; productId: null }
  ) & { productName: string | null; grants: readonly StoredGrant[] | null };
  const rows = await query<Row>({
    name: 'read_customers',
    text: READ_CUSTOMERS,
    values: [customerIds],
  });
  const customers = new Map<string, Map<string | null, DecidedSubscription>>();
  const names = new Map<string, string>();
  const grants = new Map<string, Grant>();
  for (const { order, productName, grants: ofCustomer, ...deciding } of rows) {
    for (const { teamId, ...grant } of ofCustomer ?? []) grants.set(teamId, grant);
    if (deciding.status === null) continue;
    const { customerId, subscriptionId, productId } = deciding;
    const customer = customers.get(customerId) ?? new Map<string | null, DecidedSubscription>();
    customers.set(customerId, customer.set(subscriptionId, { deciding, order }));
    if (productId !== null && productName !== null) names.set(productId, productName);
  }
  return { customers, names, grants };
}

/** The customers with a subscription of this id: usually one, because ids are unique at Stripe. */
export async function readCustomerIdsOf(
  query: Query,
  subscriptionId: string,
  limit: number,
): Promise<string[]> {
  const rows = await query<{ customer_id: string }>({
    name: 'read_customer_ids_of',
    text: `
      select customer_id
        from instep.subscriptions
       where subscription_id = $1
         and subscription_id <> ''
       order by customer_id
       limit $2`,
    values: [subscriptionId, limit],
  });
  return rows.map(({ customer_id }) => customer_id);
}

/** Stores the deciding event of each of these subscriptions. */
export async function writeSubscriptions(
  query: Query,
  states: readonly DecidedSubscription[],
): Promise<void> {
  await query({
    name: 'write_subscriptions',
    text: `
      insert into instep.subscriptions
             (customer_id, subscription_id, status, product_id, plan_name, created_at,
              is_order_ambiguous, is_order_inferred)
      select customer_id, subscription_id, status, product_id, plan_name,
             to_timestamp(created_seconds), is_order_ambiguous, is_order_inferred
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                    $7::boolean[], $8::boolean[])
          as state (customer_id, subscription_id, status, product_id, plan_name, created_seconds,
                    is_order_ambiguous, is_order_inferred)
          on conflict (customer_id, subscription_id) do update
         set status             = excluded.status,
             product_id         = excluded.product_id,
             plan_name          = excluded.plan_name,
             created_at         = excluded.created_at,
             is_order_ambiguous = excluded.is_order_ambiguous,
             is_order_inferred  = excluded.is_order_inferred`,
    values: [
      states.map(({ deciding }) => deciding.customerId),
      states.map(({ deciding }) => deciding.subscriptionId ?? ''),
      states.map(({ deciding }) => deciding.status),
      states.map(({ deciding }) => deciding.productId),
      states.map(({ deciding }) => deciding.planName),
      states.map(({ deciding }) => deciding.createdSeconds),
      states.map(({ order }) => order === 'ambiguous'),
      states.map(({ order }) => order === 'inferred'),
    ],
  });
}

/** A subscription with a tie group whose order is unknown. */
export type AmbiguousSubscription = {
  readonly subscriptionId: string;
  readonly createdSeconds: number;
};

const READ_AMBIGUOUS_SUBSCRIPTIONS = ({ teams }: ApplicationTables) => `
      select subscription_id as "subscriptionId",
             extract(epoch from created_at)::bigint as "createdSeconds"
        from instep.subscriptions
       where is_order_ambiguous
         and subscription_id <> ''
         and created_at < now() - interval '3 seconds'
         and exists (select from ${teams.rows} as teams where provider_customer_id = customer_id)
       order by created_at
       limit $1`;

/**
 * The subscriptions whose order is ambiguous and matters to a team, the oldest first, for a snapshot from
 * Stripe's API. Leaves out those whose second is not over yet, with a margin for clocks, so that the snapshot
 * includes all of it.
 */
export async function readAmbiguousSubscriptions(
  query: Query,
  limit: number,
): Promise<AmbiguousSubscription[]> {
  return await query<AmbiguousSubscription>({
    name: 'read_ambiguous_subscriptions',
    text: READ_AMBIGUOUS_SUBSCRIPTIONS,
    values: [limit],
  });
}

/** Whether a team possibly lost a plan. */
const HAS_NONE = `
  (teams.provider_subscription_id is null
   and teams.provider_product_id is null
   and teams.plan_name is null
   and teams.subscription_status is not null)`;

/**
 * SQL that joins the plan that a team without a plan had before: that of the newest subscription with the
 * team's status.
 */
export const LOST_PLAN = `
        left join lateral (
               select state.product_id as lost_product_id,
                      coalesce(state.plan_name, product.name) as lost_plan_name
                 from instep.subscriptions as state
                 left join instep.products as product on product.product_id = state.product_id
                where ${HAS_NONE}
                  and state.customer_id = teams.provider_customer_id
                  and state.status = teams.subscription_status::text
                order by state.created_at desc
                limit 1
             ) as lost on true`;

/** All teams, with their lost plans. */
export function teamsWithLostPlans({ teams }: ApplicationTables): string {
  return `${teams.rows} as teams ${LOST_PLAN}`;
}

/** The same for a statement that reads all teams, without the join for teams that have a plan. */
export function allTeamsWithLostPlans({ teams }: ApplicationTables): string {
  return `
        (
          select teams.*, null as lost_product_id, null as lost_plan_name
            from ${teams.rows} as teams
           where not ${HAS_NONE}
           union all
          select teams.*, lost_product_id, lost_plan_name
            from ${teams.rows} as teams ${LOST_PLAN}
           where ${HAS_NONE}
        ) as teams`;
}
