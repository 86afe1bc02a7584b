// What the events of customers say together, `instep.customers`. The engine writes it; the others read it here.

import { type CustomerState, NO_STATE } from '../../rule/customer-state.ts';
import { readState } from '../../rule/state-json.ts';
import type { Query } from '../database.ts';
import { readProductNames } from './products.ts';

export type StoredStates = {
  /** That of a customer of whom no event is known is empty. */
  readonly of: (customerId: string | null) => CustomerState;
  /** The names of the products that these customers subscribe to. */
  readonly names: ReadonlyMap<string | null, string>;
};

/** The states of these customers. @throws StateNewer, StateUnreadable */
export async function readStates(
  query: Query,
  customerIds: readonly string[],
): Promise<StoredStates> {
  const rows = await query<{ customerId: string; subscriptions: string }>({
    name: 'read_states',
    text: `
      select customer_id as "customerId", subscriptions::text as subscriptions
        from instep.customers
       where customer_id = any ($1::text[])`,
    values: [customerIds],
  });
  const states = new Map(
    rows.map(({ customerId, subscriptions }) => [customerId, readState(subscriptions)]),
  );
  const productIds = [...states.values()].flatMap(productsOf);
  const names = productIds.length === 0 ? new Map() : await readProductNames(query, productIds);
  return { of: (customerId) => states.get(customerId ?? '') ?? NO_STATE, names };
}

/** The products that a customer subscribes to. */
export function productsOf({ subscriptions }: CustomerState): string[] {
  return [...subscriptions.values()].flatMap(
    ({ deciding }) => deciding?.reported.plan.providerProductId ?? [],
  );
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
      -- Otherwise the planner would expect many of these, and look for the first ones in the order of the ids.
      with found as materialized (
        select customer_id
          from instep.customers
         where subscription_ids @> array[$1::text]
      )
      select customer_id
        from found
       order by customer_id
       limit $2`,
    values: [subscriptionId, limit],
  });
  return rows.map(({ customer_id }) => customer_id);
}
