import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';

const TAKE_NEW_CUSTOMERS = ({ teams }: ApplicationTables) => `
      with due as materialized (
        select distinct on (provider_customer_id) provider_customer_id as customer_id
          from ${teams.rows} as teams
          left join instep.new_customers as known on known.customer_id = provider_customer_id
         where provider_customer_id is not null
           and (known.customer_id is null or known.due_at < now())
           and not exists (
                 select
                   from instep.subscriptions as state
                  where state.customer_id = provider_customer_id
               )
         limit $1
      )
      insert into instep.new_customers as known (customer_id, due_at)
      select customer_id, now() + interval '5 seconds'
        from due
          on conflict (customer_id) do update
         set due_at = case
                        when now() - known.first_asked_at < interval '1 day'
                          then now() + (now() - known.first_asked_at)
                        else 'infinity'
                      end
      returning customer_id as "customerId"`;

/**
 * Customers with a team but without a known subscription, for which Stripe should be asked now. Each is due
 * again after 5 seconds, then after doubling delays for a day: a customer can be created long before the
 * checkout is completed.
 */
export async function takeNewCustomers(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'take_new_customers',
    text: TAKE_NEW_CUSTOMERS,
    values: [limit],
  });
  return rows.map(({ customerId }) => customerId);
}
