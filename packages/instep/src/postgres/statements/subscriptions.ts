// What each subscription's deciding event and latest state are, `instep.subscriptions`. The ingest pipeline and
// rebuilds read and write it. `rowsAs` makes rows of parameters, one or many (statement.ts).

import type { LatestState, LatestStates } from '../../core/latest-state.ts';
import type { DecidingEvents } from '../../core/plan-selection.ts';
import type { SubscriptionState } from '../../core/subscription-event.ts';
import type { DecidingEvent } from '../../core/tie-group.ts';
import { subscriptionFacts } from '../../stripe/subscription-facts.ts';
import type { Query } from '../database.ts';
import { ASKED_CUSTOMERS, parametersOf, rowsAs, textsByRowCount } from '../statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';

export type StoredSubscriptions = {
  /** By customer. */
  readonly decidingEvents: ReadonlyMap<string, DecidingEvents>;
  /** By customer. */
  readonly latestStates: ReadonlyMap<string, LatestStates>;
  /** The names of products. */
  readonly names: ReadonlyMap<string, string>;
};

// Read customer by customer (`offset 0` keeps the planner from joining), so that table statistics can't make it read the
// whole table.
const READ_SUBSCRIPTIONS = textsByRowCount(
  (count) => `
      select asked.customer_id as "customerId",
             nullif(subscription_id, '') as "subscriptionId",
             status,
             product_id as "productId",
             plan_name as "planName",
             extract(epoch from created_at)::bigint as "createdSeconds",
             case when is_order_ambiguous then 'ambiguous' else 'known' end as "order",
             latest_status as "latestStatus",
             latest_product_id as "latestProductId",
             latest_plan_name as "latestPlanName",
             extract(epoch from latest_created_at)::bigint as "latestSeconds",
             extract(epoch from latest_since)::bigint as "sinceSeconds",
             is_settled as "isSettled",
             products.name as "productName"
        from ${count === 'one' ? '(values ($1::text)) as asked (customer_id)' : ASKED_CUSTOMERS}
       cross join lateral (
               select *
                 from instep.subscriptions
                where customer_id = asked.customer_id
               offset 0
             ) as state
        left join instep.products using (product_id)`,
);

/** The stored subscriptions of these customers. The lock on a customer's team guards them. */
export async function readSubscriptions(
  query: Query,
  customerIds: readonly string[],
): Promise<StoredSubscriptions> {
  const isOne = customerIds.length === 1;
  const rows = await query<SubscriptionRow>({
    name: 'read_subscriptions',
    text: isOne ? READ_SUBSCRIPTIONS.one : READ_SUBSCRIPTIONS.many,
    values: isOne ? customerIds : [customerIds],
  });
  const decidingEvents = new Map<string, Map<string | null, DecidingEvent>>();
  const latestStates = new Map<string, Map<string | null, LatestState>>();
  const names = new Map<string, string>();
  for (const row of rows) {
    const { customerId, subscriptionId, productId, productName } = row;
    if (productId !== null && productName !== null) names.set(productId, productName);
    const deciding = decidingEventIn(row);
    if (deciding !== null)
      subscriptionsOf(decidingEvents, customerId).set(subscriptionId, deciding);
    subscriptionsOf(latestStates, customerId).set(subscriptionId, latestStateIn(row));
  }
  return { decidingEvents, latestStates, names };
}

type SubscriptionRow = Pick<
  SubscriptionState,
  'customerId' | 'subscriptionId' | 'productId' | 'planName'
> &
  Pick<LatestState, 'sinceSeconds' | 'isSettled'> & {
    /** `null`: no event has an effect. */
    status: string | null;
    createdSeconds: number;
    order: DecidingEvent['order'];
    latestStatus: string;
    latestProductId: string | null;
    latestPlanName: string | null;
    latestSeconds: number;
    productName: string | null;
  };

function decidingEventIn(row: SubscriptionRow): DecidingEvent | null {
  const { customerId, subscriptionId, status, productId, planName, createdSeconds, order } = row;
  if (status === null) return null;
  return {
    subscription: { customerId, subscriptionId, status, productId, planName, createdSeconds },
    order,
  };
}

function latestStateIn(row: SubscriptionRow): LatestState {
  const { customerId, subscriptionId, latestStatus: status, latestSeconds: createdSeconds } = row;
  const { latestProductId: productId, latestPlanName: planName } = row;
  const subscription = { customerId, subscriptionId, status, productId, planName, createdSeconds };
  const { sinceSeconds, isSettled } = row;
  return { subscription, object: null, sinceSeconds, isSettled };
}

function subscriptionsOf<State>(
  customers: Map<string, Map<string | null, State>>,
  customerId: string,
): Map<string | null, State> {
  const known = customers.get(customerId);
  if (known !== undefined) return known;
  const subscriptions = new Map<string | null, State>();
  customers.set(customerId, subscriptions);
  return subscriptions;
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

/** The parts of a row to write, by the names of `StateRow`. */
const STATE_COLUMNS = {
  customerId: 'text',
  subscriptionId: 'text',
  status: 'text',
  productId: 'text',
  planName: 'text',
  createdSeconds: 'bigint',
  order: 'text',
  latestStatus: 'text',
  latestProductId: 'text',
  latestPlanName: 'text',
  latestSeconds: 'bigint',
  sinceSeconds: 'bigint',
  isSettled: 'boolean',
  quantity: 'bigint',
  currentPeriodEndSeconds: 'bigint',
  trialEndSeconds: 'bigint',
  cancelAtSeconds: 'bigint',
  cancelsAtPeriodEnd: 'boolean',
  isCollectionPaused: 'boolean',
  trialEndAction: 'text',
};

type StateRow = { [Column in keyof typeof STATE_COLUMNS]?: unknown };

/** The columns of the deciding event, each with SQL for its value in a row of `STATE_COLUMNS`. */
const DECIDING_COLUMNS = {
  status: 'status',
  product_id: '"productId"',
  plan_name: '"planName"',
  created_at: 'to_timestamp("createdSeconds")',
  is_order_ambiguous: `coalesce("order" = 'ambiguous', false)`,
};

/** The columns of the latest state, likewise. */
const LATEST_COLUMNS = {
  latest_status: '"latestStatus"',
  latest_product_id: '"latestProductId"',
  latest_plan_name: '"latestPlanName"',
  latest_created_at: 'to_timestamp("latestSeconds")',
  latest_since: 'to_timestamp("sinceSeconds")',
  is_settled: '"isSettled"',
  quantity: 'quantity',
  current_period_end: 'to_timestamp("currentPeriodEndSeconds")',
  trial_end: 'to_timestamp("trialEndSeconds")',
  cancel_at: 'to_timestamp("cancelAtSeconds")',
  cancel_at_period_end: '"cancelsAtPeriodEnd"',
  is_collection_paused: '"isCollectionPaused"',
  trial_end_action: '"trialEndAction"',
};

const WRITTEN_COLUMNS = { ...DECIDING_COLUMNS, ...LATEST_COLUMNS };

/**
 * Assigns these columns: `status = excluded.status, product_id = excluded.product_id, …`. If some rows have only the
 * others, as `required` then shows, they keep what is stored:
 * `status = case when excluded.status is null then stored.status else excluded.status end, …`.
 */
const assign = (columns: object, required: string, areComplete: boolean) =>
  Object.keys(columns)
    .map((column) =>
      areComplete
        ? `${column} = excluded.${column}`
        : `${column} = case when excluded.${required} is null then stored.${column} else excluded.${column} end`,
    )
    .join(',\n             ');

/** Writes rows of `STATE_COLUMNS`; complete ones have a deciding event as well as a latest state. */
const writeSubscriptionsIf = (areComplete: boolean) =>
  textsByRowCount(
    (count) => `
      insert into instep.subscriptions as stored
             (customer_id, subscription_id, ${Object.keys(WRITTEN_COLUMNS).join(', ')})
      select "customerId", "subscriptionId", ${Object.values(WRITTEN_COLUMNS).join(', ')}
        from ${rowsAs('state', STATE_COLUMNS, count)}
          on conflict (customer_id, subscription_id) do update
         set ${assign(DECIDING_COLUMNS, 'status', areComplete)},
             ${assign(LATEST_COLUMNS, 'latest_status', areComplete)}`,
  );

const WRITE_SUBSCRIPTIONS = writeSubscriptionsIf(false);
const WRITE_COMPLETE_SUBSCRIPTIONS = writeSubscriptionsIf(true);

/** Stores these deciding events, and the latest states that are not stored already. */
export async function writeSubscriptions(
  query: Query,
  decidingEvents: readonly DecidingEvent[],
  latestStates: readonly LatestState[],
): Promise<void> {
  const states = new Map<string, StateRow>();
  function addTo({ customerId, subscriptionId }: SubscriptionState, columns: StateRow): void {
    const key = `${customerId.length} ${customerId} ${subscriptionId ?? ''}`;
    const ids = { customerId, subscriptionId: subscriptionId ?? '' };
    states.set(key, Object.assign(states.get(key) ?? ids, columns));
  }
  for (const { subscription, order } of decidingEvents) {
    const { status, productId, planName, createdSeconds } = subscription;
    addTo(subscription, { status, productId, planName, createdSeconds, order });
  }
  for (const { subscription, object, sinceSeconds, isSettled } of latestStates) {
    if (object === null) continue;
    const { status, productId, planName, createdSeconds } = subscription;
    addTo(subscription, {
      latestStatus: status,
      latestProductId: productId,
      latestPlanName: planName,
      latestSeconds: createdSeconds,
      sinceSeconds,
      isSettled,
      ...subscriptionFacts(object),
    });
  }
  if (states.size === 0) return;
  const rows = [...states.values()];
  const areComplete = rows.every(({ status, latestStatus }) => status && latestStatus);
  const texts = areComplete ? WRITE_COMPLETE_SUBSCRIPTIONS : WRITE_SUBSCRIPTIONS;
  const { count, values } = parametersOf(rows, STATE_COLUMNS);
  await query({ name: 'write_subscriptions', text: texts[count], values });
}

/** The second of a subscription's events whose order is ambiguous; `null` when it is known. */
export async function readAmbiguousSecond(
  query: Query,
  subscriptionId: string,
): Promise<number | null> {
  const [row] = await query<{ createdSeconds: number }>({
    name: 'read_ambiguous_second',
    text: `
      select extract(epoch from created_at)::bigint as "createdSeconds"
        from instep.subscriptions
       where subscription_id = $1
         and subscription_id <> ''
         and is_order_ambiguous`,
    values: [subscriptionId],
  });
  return row?.createdSeconds ?? null;
}

/** SQL: whether a team has no plan, but the status of a subscription that it possibly had one from. */
const HAS_LOST_PLAN = `
  (teams.provider_subscription_id is null
   and teams.provider_product_id is null
   and teams.plan_name is null
   and teams.subscription_status is not null)`;

/**
 * SQL that joins the plan that a team without a plan had before: that of the newest subscription with the
 * team's status.
 */
export const JOIN_LOST_PLAN = `
        left join lateral (
               select state.product_id as lost_product_id,
                      coalesce(state.plan_name, product.name) as lost_plan_name
                 from instep.subscriptions as state
                 left join instep.products as product on product.product_id = state.product_id
                where ${HAS_LOST_PLAN}
                  and state.customer_id = teams.provider_customer_id
                  and state.status = teams.subscription_status::text
                order by state.created_at desc
                limit 1
             ) as lost on true`;

/** SQL: teams, each with the plan that it lost, if it has none. */
export function teamsWithLostPlans({ teams }: ApplicationTables): string {
  return `${teams.rows} as teams ${JOIN_LOST_PLAN}`;
}
