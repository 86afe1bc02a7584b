import type { Query } from '../database/database.ts';
import type { Customer } from '../subscriptions/customer.ts';
import type { SubscriptionEvent } from '../subscriptions/subscription-event.ts';

type SubscriptionRow = {
  customer_id: string;
  subscription_id: string;
  status: string;
  product_id: string | null;
  plan_name: string | null;
  created_seconds: number;
};

/** All that is known of these customers. The lock on a customer's team guards it. */
export async function readCustomers(
  query: Query,
  customerIds: readonly string[],
): Promise<Map<string, Customer>> {
  const rows = await query<SubscriptionRow>(
    `select customer_id,
            subscription_id,
            status,
            product_id,
            plan_name,
            extract(epoch from created_at)::bigint as created_seconds
       from instep.subscriptions
      where customer_id = any ($1::text[])`,
    [customerIds],
  );
  const customers = new Map<string, Map<string | null, SubscriptionEvent>>();
  for (const row of rows) {
    const event = toEvent(row);
    const customer = customers.get(event.customerId) ?? new Map();
    customers.set(event.customerId, customer.set(event.subscriptionId, event));
  }
  return customers;
}

/** Remembers the newest event of each of these subscriptions. */
export async function writeSubscriptions(
  query: Query,
  events: readonly SubscriptionEvent[],
): Promise<void> {
  await query(
    `insert into instep.subscriptions
            (customer_id, subscription_id, status, product_id, plan_name, created_at)
     select customer_id, subscription_id, status, product_id, plan_name,
            to_timestamp(created_seconds)
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
         as event (customer_id, subscription_id, status, product_id, plan_name, created_seconds)
         on conflict (customer_id, subscription_id) do update
        set status     = excluded.status,
            product_id = excluded.product_id,
            plan_name  = excluded.plan_name,
            created_at = excluded.created_at`,
    [
      events.map((event) => event.customerId),
      events.map((event) => event.subscriptionId ?? ''),
      events.map((event) => event.status),
      events.map((event) => event.productId),
      events.map((event) => event.planName),
      events.map((event) => event.createdSeconds),
    ],
  );
}

function toEvent(row: SubscriptionRow): SubscriptionEvent {
  return {
    customerId: row.customer_id,
    subscriptionId: row.subscription_id === '' ? null : row.subscription_id,
    status: row.status,
    productId: row.product_id,
    planName: row.plan_name,
    createdSeconds: row.created_seconds,
  };
}
