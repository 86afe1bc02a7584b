
with locked as materialized (
  -- Row by row, so that no plan reads a whole table. An application that inserts rows which reference a team need not wait
  -- for `no key update`.
  select team_id, customer_id, cause, event_key, event_id, event_created_at, operator, action_id, is_held,
         subscription_status_before,
         plan_name_before,
         provider_product_id_before,
         provider_subscription_id_before
    from json_populate_recordset(null::instep.plan_changes, $2::json) as team
    left join lateral (
           select true as is_held
             from public.teams as teams
            where teams.id = team.team_id::bigint
              and teams.stripe_customer_id = team.customer_id
              and (teams.subscription_status::text,
                   teams.plan_name::text,
                   teams.stripe_product_id::text,
                   teams.stripe_subscription_id::text)
                  is not distinct from
                  (team.subscription_status_before::text,
                   team.plan_name_before::text,
                   team.provider_product_id_before::text,
                   team.provider_subscription_id_before::text)
              for no key update skip locked
         ) as held on true
),

-- The state.
written as (
  insert into instep.customers (
           customer_id, version, subscriptions,
           subscription_status,
           plan_name,
           provider_product_id,
           provider_subscription_id,
           price_id,
           quantity,
           current_period_ends_at,
           cancel_at_period_end,
           trial_ends_at,
           subscription_ids,
           access_rules,
           access_subscription_id,
           access_status,
           access_product_id,
           access_plan_name,
           access_quantity,
           access_period_ends_at,
           access_trial_ends_at,
           access_cancels_at_end,
           access_since,
           access_ends_at,
           access_is_paused,
           access_grants_plan,
           grants_plan,
           ambiguous_subscription_id,
           ambiguous_since,
           had_team,
           waiting,
           charged_twice,
           due_since,
           charged_twice_since
         )
  select customer_id, version, subscriptions,
         subscription_status,
         coalesce(plan_name, (select name from instep.products where product_id = provider_product_id)),
         provider_product_id,
         provider_subscription_id,
         price_id,
         quantity,
         current_period_ends_at,
         cancel_at_period_end,
         trial_ends_at,
         subscription_ids,
         access_rules,
         access_subscription_id,
         access_status,
         access_product_id,
         access_plan_name,
         access_quantity,
         access_period_ends_at,
         access_trial_ends_at,
         access_cancels_at_end,
         access_since,
         access_ends_at,
         access_is_paused,
         access_grants_plan,
         grants_plan,
         ambiguous_subscription_id,
         ambiguous_since,
         had_team,
         waiting,
         charged_twice,
         due_since,
         case when charged_twice is not null then clock_timestamp() end
    from json_populate_recordset(null::instep.customers, $1::json)
   where customer_id not in (select customer_id from locked where is_held is null)
      on conflict (customer_id) do update
     set version = excluded.version,
         subscriptions = excluded.subscriptions,
         subscription_status = excluded.subscription_status,
         plan_name = excluded.plan_name,
         provider_product_id = excluded.provider_product_id,
         provider_subscription_id = excluded.provider_subscription_id,
         price_id = excluded.price_id,
         quantity = excluded.quantity,
         current_period_ends_at = excluded.current_period_ends_at,
         cancel_at_period_end = excluded.cancel_at_period_end,
         trial_ends_at = excluded.trial_ends_at,
         subscription_ids = excluded.subscription_ids,
         access_rules = excluded.access_rules,
         access_subscription_id = excluded.access_subscription_id,
         access_status = excluded.access_status,
         access_product_id = excluded.access_product_id,
         access_plan_name = excluded.access_plan_name,
         access_quantity = excluded.access_quantity,
         access_period_ends_at = excluded.access_period_ends_at,
         access_trial_ends_at = excluded.access_trial_ends_at,
         access_cancels_at_end = excluded.access_cancels_at_end,
         access_since = excluded.access_since,
         access_ends_at = excluded.access_ends_at,
         access_is_paused = excluded.access_is_paused,
         access_grants_plan = excluded.access_grants_plan,
         grants_plan = excluded.grants_plan,
         ambiguous_subscription_id = excluded.ambiguous_subscription_id,
         ambiguous_since = excluded.ambiguous_since,
         had_team = customers.had_team or excluded.had_team,
         waiting = excluded.waiting,
         charged_twice = excluded.charged_twice,
         due_since = excluded.due_since,
         charged_twice_since =
           case
             when customers.charged_twice is not distinct from excluded.charged_twice
               then customers.charged_twice_since
             else clock_timestamp()
           end
   where customers.version = excluded.version - 1
  returning customer_id, subscription_status,
            plan_name,
            provider_product_id,
            provider_subscription_id,
            price_id,
            quantity,
            current_period_ends_at,
            cancel_at_period_end,
            trial_ends_at
),

-- The log. An event without a customer can't be read. One that is known already only counts its deliveries.
logged as (
  insert into instep.events (
           key, event_id, type, customer_id, subscription_id, created_at, received_at, deliveries, outcome,
           parked_outcome, body
         )
  select event.key, event.event_id, event.type, event.customer_id, event.subscription_id,
         to_timestamp(event.created), to_timestamp(event.received_ms / 1000.0), event.deliveries, event.outcome,
         event.parked_outcome, substring($4::bytea from event.body_start for event.body_bytes)
    from json_to_recordset($3::json) as event (
           number integer, key uuid, event_id text, type text, customer_id text, subscription_id text,
           created bigint, received_ms bigint, deliveries integer, outcome text, parked_outcome text,
           body_start integer, body_bytes integer
         )
   where event.customer_id is null
      or event.customer_id in (select customer_id from written)
   order by event.number
      on conflict (key) do update
     set deliveries = events.deliveries + excluded.deliveries,
         -- A newer version, which runs meanwhile, can have read what this one can't.
         outcome = case when excluded.customer_id is null then events.outcome else excluded.outcome end,
         parked_outcome = case when excluded.customer_id is null then events.parked_outcome else excluded.parked_outcome end
  -- Only a new row has no `xmax`.
  returning key, customer_id, xmax = 0 as is_new
), found as (
  update instep.events
     set outcome = events.parked_outcome,
         parked_outcome = null
    from written
   where written.customer_id = any ($6::text[])
     and events.customer_id = written.customer_id
     and events.outcome = 'parked'
     and events.key not in (select key from logged)
  returning events.type, events.outcome
),

-- The teams, and the outbox.
planned as (
  update public.teams as teams
     set subscription_status = written.subscription_status,
         plan_name = case when $5::boolean then written.plan_name end,
         stripe_product_id = written.provider_product_id,
         stripe_subscription_id = written.provider_subscription_id,
         updated_at = now()
    from locked
    join written using (customer_id)
   where teams.id = locked.team_id::bigint
     and locked.cause is not null
  returning locked.team_id,
            teams.subscription_status::text as subscription_status_after,
            teams.plan_name::text as plan_name_after,
            teams.stripe_product_id::text as provider_product_id_after,
            teams.stripe_subscription_id::text as provider_subscription_id_after
), changed as (
  insert into instep.plan_changes (
           team_id, customer_id, cause, event_key, event_id, event_created_at, operator, action_id,
           subscription_status_before,
           plan_name_before,
           provider_product_id_before,
           provider_subscription_id_before,
           subscription_status_after,
           plan_name_after,
           provider_product_id_after,
           provider_subscription_id_after
         )
  select team_id, customer_id, cause, event_key, event_id, event_created_at, operator, action_id,
         subscription_status_before,
         plan_name_before,
         provider_product_id_before,
         provider_subscription_id_before,
         subscription_status_after,
         plan_name_after,
         provider_product_id_after,
         provider_subscription_id_after
    from locked
    join written using (customer_id)
    left join planned using (team_id)
   where cause is not null
     and case
           when planned.team_id is null
                or (subscription_status_after,
                    provider_product_id_after,
                    provider_subscription_id_after)
                   is distinct from
                   (subscription_status,
                    provider_product_id,
                    provider_subscription_id)
           then instep.refuse_unwritten_plan()
           else (subscription_status_before,
                 plan_name_before,
                 provider_product_id_before,
                 provider_subscription_id_before)
                is distinct from
                (subscription_status_after,
                 plan_name_after,
                 provider_product_id_after,
                 provider_subscription_id_after)
         end
)
select customer_id, null as key, null as type, null as outcome
  from written
 union all
select null, key::text, null, null
  from logged
 where is_new
   and customer_id is null
 union all
select null, null, type, outcome
  from found