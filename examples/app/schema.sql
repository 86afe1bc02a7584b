create table if not exists teams (
  id                       serial primary key,
  name                     text   not null,
  provider_customer_id     text   unique,
  provider_subscription_id text,
  provider_product_id      text,
  plan_name                text,
  subscription_status      text
);

create table if not exists users (
  id            serial      primary key,
  team_id       integer     references teams,
  name          text,
  email         text        not null unique,
  password_hash text        not null,
  role          text        not null default 'member',
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  deleted_at    timestamptz
);

-- What the app tells a team about its plan: one message for each change.
create table if not exists messages (
  change_id bigint  primary key,
  team_id   integer not null references teams,
  text      text    not null
);

-- Ada's team is already a customer at Stripe: its checkout stored the customer id.
insert into teams (id, name, provider_customer_id)
values (1, 'Acme', 'cus_acme') on conflict do nothing;
insert into users (team_id, name, email, password_hash)
values (1, 'Ada', 'ada@example.com', '!') on conflict do nothing;
