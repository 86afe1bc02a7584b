export const sql = `
-- The members of a subscription that the view shows, from an event or a snapshot in any API version.
-- No row for a body that jsonb rejects, so that one event does not fail the view.
create function instep.subscription_details(body bytea)
  returns table (
    status               text,
    price_id             text,
    unit_amount          bigint,
    currency             text,
    quantity             bigint,
    current_period_end   timestamptz,
    trial_end            timestamptz,
    cancel_at            timestamptz,
    cancel_at_period_end boolean
  )
  language plpgsql stable as
$body$
declare
  subscription jsonb;
  item         jsonb;
  price        jsonb;
begin
  subscription := convert_from(body, 'UTF8')::jsonb #> '{data,object}';
  item := subscription #> '{items,data,0}';
  price := coalesce(nullif(item -> 'price', 'null'), nullif(item -> 'plan', 'null'),
                    subscription -> 'plan');
  return query select
    subscription ->> 'status',
    price ->> 'id',
    coalesce(price ->> 'unit_amount', price ->> 'amount')::bigint,
    coalesce(price ->> 'currency', subscription ->> 'currency'),
    coalesce(item ->> 'quantity', subscription ->> 'quantity')::bigint,
    to_timestamp(coalesce(item ->> 'current_period_end', subscription ->> 'current_period_end')::bigint),
    to_timestamp((subscription ->> 'trial_end')::bigint),
    to_timestamp((subscription ->> 'cancel_at')::bigint),
    (subscription ->> 'cancel_at_period_end')::boolean;
exception
  when data_exception then
    return;
end
$body$;

-- For the application, by customer, with details from the newest event. Of several events in its
-- second, one with the same status, and of these the last arrival.
create view instep.team_subscriptions as
select state.customer_id,
       nullif(state.subscription_id, '') as subscription_id,
       state.status,
       state.product_id,
       coalesce(state.plan_name, products.name) as plan_name,
       price_id,
       unit_amount,
       currency,
       quantity,
       current_period_end,
       trial_end,
       cancel_at,
       cancel_at_period_end,
       state.created_at as changed_at
  from instep.subscriptions as state
  left join instep.products on products.product_id = state.product_id
  left join lateral (
         select details.*
           from instep.events as event
          cross join lateral instep.subscription_details(event.body) as details
          where event.customer_id = state.customer_id
            and event.subscription_id is not distinct from nullif(state.subscription_id, '')
            and event.created_at = state.created_at
            and event.outcome in ('applied', 'stale', 'unchanged')
          order by details.status = state.status desc nulls last, event.position desc
          limit 1
       ) as newest on true;
`;
