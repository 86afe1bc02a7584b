import type { LatestState, LatestStates } from '../../core/latest-state.ts';
import type { SubscriptionEvent } from '../../core/subscription-event.ts';
import { type SubscriptionFacts, subscriptionFacts } from '../../stripe/subscription-facts.ts';
import type { Query } from '../database.ts';
import { ASKED_CUSTOMERS, columnArrays } from '../statement.ts';

/** The latest states of these customers' subscriptions. The lock on a customer's team guards them. */
export async function readLatestStates(
  query: Query,
  customerIds: readonly string[],
): Promise<Map<string, LatestStates>> {
  type Row = SubscriptionEvent & Pick<LatestState, 'sinceSeconds' | 'isSettled' | 'isFromLog'>;
  const rows = await query<Row>({
    name: 'read_latest_states',
    // Read customer by customer, so that table statistics can't make the planner read the whole table.
    text: `
      select state.customer_id as "customerId",
             nullif(subscription_id, '') as "subscriptionId",
             status,
             product_id as "productId",
             plan_name as "planName",
             extract(epoch from created_at)::bigint as "createdSeconds",
             extract(epoch from since)::bigint as "sinceSeconds",
             is_settled as "isSettled",
             is_from_log as "isFromLog"
        from ${ASKED_CUSTOMERS}
       cross join lateral (
               select *
                 from instep.latest_states
                where customer_id = asked.customer_id
               offset 0
             ) as state`,
    values: [customerIds],
  });
  const customers = new Map<string, Map<string | null, LatestState>>();
  for (const { sinceSeconds, isSettled, isFromLog, ...latest } of rows) {
    const { customerId, subscriptionId } = latest;
    const states = customers.get(customerId) ?? new Map<string | null, LatestState>();
    states.set(subscriptionId, { latest, after: null, sinceSeconds, isSettled, isFromLog });
    customers.set(customerId, states);
  }
  return customers;
}

/** The columns of `instep.latest_states`, and how each parameter becomes one. */
const COLUMNS: readonly (readonly [column: string, type: string, value?: string])[] = [
  ['customer_id', 'text'],
  ['subscription_id', 'text'],
  ['status', 'text'],
  ['product_id', 'text'],
  ['plan_name', 'text'],
  ['created_at', 'bigint', 'to_timestamp'],
  ['since', 'bigint', 'to_timestamp'],
  ['is_settled', 'boolean'],
  ['quantity', 'bigint'],
  ['current_period_end', 'bigint', 'to_timestamp'],
  ['trial_end', 'bigint', 'to_timestamp'],
  ['cancel_at', 'bigint', 'to_timestamp'],
  ['cancel_at_period_end', 'boolean'],
  ['is_collection_paused', 'boolean'],
  ['trial_end_action', 'text'],
];

const NAMES = COLUMNS.map(([column]) => column).join(', ');

const WRITE_LATEST_STATES = `
      insert into instep.latest_states (${NAMES}, is_from_log)
      select ${COLUMNS.map(([column, , value = '']) => `${value}(${column})`).join(', ')}, true
        from unnest(${COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')})
          as state (${NAMES})
          on conflict (customer_id, subscription_id) do update
         set ${[...COLUMNS.slice(2).map(([column]) => column), 'is_from_log']
           .map((column) => `${column} = excluded.${column}`)
           .join(', ')}`;

type Row = Omit<SubscriptionEvent, 'subscriptionId'> &
  SubscriptionFacts &
  Pick<LatestState, 'sinceSeconds' | 'isSettled'> & { subscriptionId: string };

/** Stores these states. Those without a subscription object are stored already. */
export async function writeLatestStates(
  query: Query,
  states: readonly LatestState[],
): Promise<void> {
  const rows = states.flatMap(({ latest, after, sinceSeconds, isSettled }): Row[] => {
    if (after === null) return [];
    const subscriptionId = latest.subscriptionId ?? '';
    return [{ ...latest, ...subscriptionFacts(after), subscriptionId, sinceSeconds, isSettled }];
  });
  if (rows.length === 0) return;
  await query({
    name: 'write_latest_states',
    text: WRITE_LATEST_STATES,
    values: columnArrays(
      rows,
      ...(['customerId', 'subscriptionId', 'status', 'productId', 'planName'] as const),
      ...(['createdSeconds', 'sinceSeconds', 'isSettled', 'quantity'] as const),
      ...(['currentPeriodEndSeconds', 'trialEndSeconds', 'cancelAtSeconds'] as const),
      ...(['cancelsAtPeriodEnd', 'isCollectionPaused', 'trialEndAction'] as const),
    ),
  });
}

/** Customers with states that a migration made and that were not read from the log yet. */
export async function readCustomersNotFromLog(
  query: Query,
  { limit, exceptIds }: { readonly limit: number; readonly exceptIds: readonly string[] },
): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'read_customers_not_from_log',
    text: `
      select distinct customer_id as "customerId"
        from instep.latest_states
       where not is_from_log
         and customer_id <> all ($2::text[])
       order by customer_id
       limit $1`,
    values: [limit, exceptIds],
  });
  return rows.map(({ customerId }) => customerId);
}

/** Marks all states of a customer as read from the log, and locks those until the transaction ends. */
export async function noteStatesFromLog(query: Query, customerId: string): Promise<void> {
  await query({
    name: 'note_states_from_log',
    text: `
      update instep.latest_states
         set is_from_log = true
       where customer_id = $1
         and not is_from_log`,
    values: [customerId],
  });
}
