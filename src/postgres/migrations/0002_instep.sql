-- What Instep itself remembers. The schema was made with the table of migrations.

-- The log: every signed event of the two types. It is never updated but for its last two counts
-- of what happened to the event: `deliveries` and, for a parked one, `outcome`. What is pruned is
-- in src/queries/prune-events.ts.
create table instep.events (
  -- The order of arrival.
  position        bigint generated always as identity primary key,
  -- `created`, the subscription and the content in 16 bytes: see src/stripe/event-key.ts. An index
  -- over ids would break on an id of 3 kB, and would need others beside it.
  key             uuid        not null unique,
  event_id        text,
  type            text        not null,
  customer_id     text,
  subscription_id text,
  -- By the provider's clock; by ours for an event that named no time.
  created_at      timestamptz,
  received_at     timestamptz not null,
  deliveries      integer     not null,
  outcome         text        not null
    check (outcome in ('applied', 'stale', 'unchanged', 'parked', 'unreadable')),
  -- The received bytes, exactly: text and jsonb refuse what JSON allows.
  body            bytea       not null
);

-- The default, pglz, takes longer over a body than all else of its row.
do $$
begin
  alter table instep.events alter column body set compression lz4;
exception
  when feature_not_supported then
    alter table instep.events alter column body set storage external;
end
$$;

create index events_parked on instep.events (customer_id) where outcome = 'parked';
create index events_of_customer on instep.events (customer_id, position);

-- The one row that says how the log was pruned.
create table instep.pruning (
  is_only_row   boolean     primary key default true check (is_only_row),
  -- So that of several instances one does it.
  begun_at      timestamptz not null,
  -- Events that were received before may be gone; null: none is.
  pruned_before timestamptz
);

insert into instep.pruning (begun_at) values ('-infinity');

-- Of every subscription of a team's customer, the newest event that has an effect.
create table instep.subscriptions (
  customer_id     text        not null,
  -- Empty for events that name no subscription.
  subscription_id text        not null,
  status          text        not null,
  product_id      text,
  -- As the event told it; mostly it tells none, and the product's name counts.
  plan_name       text,
  created_at      timestamptz not null,
  -- False while several events of one second leave open which came last.
  is_certain      boolean     not null,
  primary key (customer_id, subscription_id)
) with (fillfactor = 80);

-- Few are, so they need no order. An index over `created_at` would have to be written with each event.
create index subscriptions_uncertain on instep.subscriptions (customer_id) where not is_certain;

create table instep.products (
  product_id   text primary key,
  -- Null while nobody has told it.
  name         text,
  -- When Stripe's API was last asked, whatever it said; null: never.
  looked_up_at timestamptz
);

create index products_nameless on instep.products (product_id) where name is null;

-- Walks through what Stripe lists, page by page: one instance at a time, and after a crash on from
-- where it was.
create table instep.walks (
  name       text primary key,
  -- Who is at it, and until when nobody else may be.
  holder     text,
  held_until timestamptz,
  -- When the last one began and ended; one that has not ended is gone on with.
  began_at   timestamptz,
  ended_at   timestamptz,
  -- How far it is, in its own terms.
  progress   jsonb
);

insert into instep.walks (name) values ('catch-up'), ('reconcile');

-- What a reconciliation under way has met in Stripe's lists; empty when none is.
create table instep.listed_subscriptions (
  customer_id     text not null,
  -- Empty for a customer who was listed alone, as one without subscriptions is.
  subscription_id text not null,
  status          text,
  product_id      text,
  plan_name       text,
  began_at        timestamptz,
  ended_at        timestamptz,
  -- All that happened until then is in it.
  as_of           timestamptz,
  primary key (customer_id, subscription_id)
);
