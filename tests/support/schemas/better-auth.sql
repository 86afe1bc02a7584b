-- An app with better-auth and its organizations, which pay. The app itself has added the columns from
-- `stripe_customer_id` on.

create table "user" (
  "id"            text primary key,
  "name"          text not null,
  "email"         text not null unique,
  "emailVerified" boolean not null,
  "createdAt"     timestamptz not null default current_timestamp,
  "updatedAt"     timestamptz not null default current_timestamp
);

create table organization (
  "id"                 text primary key,
  "name"               text not null,
  "slug"               text not null unique,
  "logo"               text,
  "metadata"           text,
  "createdAt"          timestamptz not null default current_timestamp,
  stripe_customer_id   text unique,
  plan                 text,
  subscription_status  text,
  quantity             integer,
  current_period_end   timestamptz,
  cancel_at_period_end boolean not null default false
);

create table member (
  "id"             text primary key,
  "organizationId" text not null references organization ("id"),
  "userId"         text not null references "user" ("id"),
  "role"           text not null
);
