import type { Customer, SubscriptionState } from '../core/customer.ts';
import type { Query } from '../postgres/database.ts';

type SubscriptionRow = {
  customer_id: string;
  subscription_id: string;
  status: string;
  product_id: string | null;
  plan_name: string | null;
  created_seconds: number;
  is_order_ambiguous: boolean;
  product_name: string | null;
};

export type KnownCustomers = {
  readonly customers: ReadonlyMap<string, Customer>;
  /** The names of their products, as far as our table has them. */
  readonly names: ReadonlyMap<string, string>;
};

/** All that is known of these customers. The lock on a customer's team guards it. */
export async function readCustomers(
  query: Query,
  customerIds: readonly string[],
): Promise<KnownCustomers> {
  const rows = await query<SubscriptionRow>(
    // Customer by customer, so that no statistics lead the planner to read the whole table.
    `select state.customer_id,
            subscription_id,
            status,
            product_id,
            plan_name,
            extract(epoch from created_at)::bigint as created_seconds,
            is_order_ambiguous,
            products.name as product_name
       from unnest($1::text[]) as asked (customer_id)
      cross join lateral (
              select *
                from instep.subscriptions
               where customer_id = asked.customer_id
              offset 0
            ) as state
       left join instep.products using (product_id)`,
    [customerIds],
  );
  const customers = new Map<string, Map<string | null, SubscriptionState>>();
  const names = new Map<string, string>();
  for (const row of rows) {
    const state = toState(row);
    const customer = customers.get(row.customer_id) ?? new Map<string | null, SubscriptionState>();
    customers.set(row.customer_id, customer.set(state.newest.subscriptionId, state));
    if (row.product_id !== null && row.product_name !== null) {
      names.set(row.product_id, row.product_name);
    }
  }
  return { customers, names };
}

/** The customers who have a subscription of this id: one, unless somebody reuses ids. */
export async function readCustomerIdsOf(
  query: Query,
  subscriptionId: string,
  limit: number,
): Promise<string[]> {
  const rows = await query<{ customer_id: string }>(
    `select customer_id
       from instep.subscriptions
      where subscription_id = $1
        and subscription_id <> ''
      order by customer_id
      limit $2`,
    [subscriptionId, limit],
  );
  return rows.map(({ customer_id }) => customer_id);
}

/** Remembers the newest event of each of these subscriptions. */
export async function writeSubscriptions(
  query: Query,
  states: readonly SubscriptionState[],
): Promise<void> {
  await query(
    `insert into instep.subscriptions
            (customer_id, subscription_id, status, product_id, plan_name, created_at, is_order_ambiguous)
     select customer_id, subscription_id, status, product_id, plan_name,
            to_timestamp(created_seconds), is_order_ambiguous
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                   $7::boolean[])
         as state (customer_id, subscription_id, status, product_id, plan_name, created_seconds,
                   is_order_ambiguous)
         on conflict (customer_id, subscription_id) do update
        set status     = excluded.status,
            product_id = excluded.product_id,
            plan_name  = excluded.plan_name,
            created_at = excluded.created_at,
            is_order_ambiguous = excluded.is_order_ambiguous`,
    [
      states.map(({ newest }) => newest.customerId),
      states.map(({ newest }) => newest.subscriptionId ?? ''),
      states.map(({ newest }) => newest.status),
      states.map(({ newest }) => newest.productId),
      states.map(({ newest }) => newest.planName),
      states.map(({ newest }) => newest.createdSeconds),
      states.map(({ isOrderAmbiguous }) => isOrderAmbiguous),
    ],
  );
}

/** A subscription of which nothing tells yet which of the events of one second came last. */
export type UncertainSubscription = {
  readonly subscriptionId: string;
  readonly createdSeconds: number;
};

/**
 * The subscriptions that are marked for a look at Stripe's API, the oldest first. Not before their
 * second is over, by a margin for clocks: what the API says then holds all of that second.
 */
export async function readUncertainSubscriptions(
  query: Query,
  limit: number,
): Promise<UncertainSubscription[]> {
  return await query<UncertainSubscription>(
    `select subscription_id as "subscriptionId",
            extract(epoch from created_at)::bigint as "createdSeconds"
       from instep.subscriptions
      where is_order_ambiguous
        and subscription_id <> ''
        and created_at < now() - interval '3 seconds'
      order by created_at
      limit $1`,
    [limit],
  );
}

function toState(row: SubscriptionRow): SubscriptionState {
  return {
    newest: {
      customerId: row.customer_id,
      subscriptionId: row.subscription_id === '' ? null : row.subscription_id,
      status: row.status,
      productId: row.product_id,
      planName: row.plan_name,
      createdSeconds: row.created_seconds,
    },
    isOrderAmbiguous: row.is_order_ambiguous,
  };
}
