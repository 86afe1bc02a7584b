-- An app made from nextjs/saas-starter (Drizzle): teams pay, and people belong to teams.

create table users (
  id            serial primary key,
  name          varchar(100),
  email         varchar(255) not null unique,
  password_hash text not null,
  role          varchar(20) not null default 'member',
  created_at    timestamp not null default now(),
  updated_at    timestamp not null default now(),
  deleted_at    timestamp
);

create table teams (
  id                     serial primary key,
  name                   varchar(100) not null,
  created_at             timestamp not null default now(),
  updated_at             timestamp not null default now(),
  stripe_customer_id     text unique,
  stripe_subscription_id text unique,
  stripe_product_id      text,
  plan_name              varchar(50),
  subscription_status    varchar(20)
);

create table team_members (
  id        serial primary key,
  user_id   integer not null references users (id),
  team_id   integer not null references teams (id),
  role      varchar(50) not null,
  joined_at timestamp not null default now()
);
