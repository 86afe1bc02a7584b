create table if not exists users (
  id            serial       primary key,
  name          varchar(100),
  email         varchar(255) not null unique,
  password_hash text         not null,
  role          varchar(20)  not null default 'member',
  created_at    timestamp    not null default now(),
  updated_at    timestamp    not null default now(),
  deleted_at    timestamp
);

create table if not exists teams (
  id                     serial       primary key,
  name                   varchar(100) not null,
  created_at             timestamp    not null default now(),
  updated_at             timestamp    not null default now(),
  stripe_customer_id     text         unique,
  stripe_subscription_id text         unique,
  stripe_product_id      text,
  plan_name              varchar(50),
  subscription_status    varchar(20)
);

create table if not exists team_members (
  id      serial      primary key,
  user_id integer     not null references users,
  team_id integer     not null references teams,
  role    varchar(50) not null
);
