export const sql = `
-- What the latest event of every subscription says, whatever its status, if the customer has a team.
create table instep.latest_states (
  customer_id          text        not null,
  -- Empty for events that name no subscription.
  subscription_id      text        not null,
  status               text        not null,
  product_id           text,
  plan_name            text,
  created_at           timestamptz not null,
  -- When the status began.
  since                timestamptz not null,
  -- Whether an event of another second can't change the row, unless it is newer or begins the status.
  is_settled           boolean     not null,
  quantity             bigint,
  current_period_end   timestamptz,
  trial_end            timestamptz,
  cancel_at            timestamptz,
  cancel_at_period_end boolean,
  is_collection_paused boolean,
  -- What Stripe does at the end of a trial without a payment method.
  trial_end_action     text,
  -- False for the rows of the migration: a job reads the rest from the log.
  is_from_log          boolean     not null,
  primary key (customer_id, subscription_id)
) with (fillfactor = 80);

insert into instep.latest_states
       (customer_id, subscription_id, status, product_id, plan_name, created_at, since,
        is_settled, is_from_log)
select customer_id, subscription_id, status, product_id, plan_name, created_at, created_at,
       false, false
  from instep.subscriptions;

create index latest_states_not_from_log on instep.latest_states (customer_id)
  where not is_from_log;

create index latest_states_past_due on instep.latest_states (customer_id)
  where status = 'past_due';

-- One row: when a team has access (docs/access.md), as the instance that started last was configured.
create table instep.access_policy (
  is_only_row    boolean  primary key default true check (is_only_row),
  plan_selection text     not null,
  -- How long a team keeps access while a payment is due; null: without limit.
  past_due_grace interval,
  -- Whether a paused subscription keeps access.
  keeps_paused   boolean  not null
);

insert into instep.access_policy (plan_selection, keeps_paused)
values ('newest', false);

-- The policy of a running instance, as text.
alter table instep.runs add column access_policy text;

-- As before, and with the status of the latest event.
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
       coalesce(latest.status, state.status) as current_status
  from instep.subscriptions as state
  left join instep.latest_states as latest
    on latest.customer_id = state.customer_id
   and latest.subscription_id = state.subscription_id
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
