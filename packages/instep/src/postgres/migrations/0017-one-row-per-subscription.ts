export const sql = `
-- One row has a subscription's deciding event and what its latest event says, so that an event reads and writes one row
-- less. Each of them can be missing.
alter table instep.subscriptions
  alter column status     drop not null,
  alter column created_at drop not null,
  add column latest_status        text,
  add column latest_product_id    text,
  add column latest_plan_name     text,
  add column latest_created_at    timestamptz,
  add column latest_since         timestamptz,
  add column is_settled           boolean,
  add column quantity             bigint,
  add column current_period_end   timestamptz,
  add column trial_end            timestamptz,
  add column cancel_at            timestamptz,
  add column cancel_at_period_end boolean,
  add column is_collection_paused boolean,
  add column trial_end_action     text,
  -- False while a job has not read the rest from the log.
  add column is_from_log          boolean not null default false,
  -- For the index: it changes less often than the status, and an update that changes no index is cheaper.
  add column is_past_due          boolean generated always as (latest_status = 'past_due') stored;

insert into instep.subscriptions
       (customer_id, subscription_id, is_order_ambiguous, latest_status, latest_product_id,
        latest_plan_name, latest_created_at, latest_since, is_settled, quantity,
        current_period_end, trial_end, cancel_at, cancel_at_period_end, is_collection_paused,
        trial_end_action, is_from_log)
select customer_id, subscription_id, false, status, product_id, plan_name, created_at, since,
       is_settled, quantity, current_period_end, trial_end, cancel_at, cancel_at_period_end,
       is_collection_paused, trial_end_action, is_from_log
  from instep.latest_states
    on conflict (customer_id, subscription_id) do update
   set latest_status        = excluded.latest_status,
       latest_product_id    = excluded.latest_product_id,
       latest_plan_name     = excluded.latest_plan_name,
       latest_created_at    = excluded.latest_created_at,
       latest_since         = excluded.latest_since,
       is_settled           = excluded.is_settled,
       quantity             = excluded.quantity,
       current_period_end   = excluded.current_period_end,
       trial_end            = excluded.trial_end,
       cancel_at            = excluded.cancel_at,
       cancel_at_period_end = excluded.cancel_at_period_end,
       is_collection_paused = excluded.is_collection_paused,
       trial_end_action     = excluded.trial_end_action,
       is_from_log          = excluded.is_from_log;

create index subscriptions_not_from_log on instep.subscriptions (customer_id)
  where not is_from_log;

create index subscriptions_past_due on instep.subscriptions (customer_id)
  where is_past_due;

-- The program drops the table together with the last view that reads it (src/postgres/access-view.ts).
comment on table instep.latest_states is 'Its rows are in instep.subscriptions.';

create or replace view instep.team_subscriptions as
select state.customer_id,
       nullif(state.subscription_id, '') as subscription_id,
       state.status,
       state.product_id,
       coalesce(state.plan_name, products.name) as plan_name,
       price_id,
       unit_amount,
       currency,
       newest.quantity,
       newest.current_period_end,
       newest.trial_end,
       newest.cancel_at,
       newest.cancel_at_period_end,
       state.created_at as changed_at,
       coalesce(state.latest_status, state.status) as current_status
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
       ) as newest on true
 where state.status is not null;
`;
