-- An app on Supabase: people are in `auth.users`, their public data in `profiles`, and what they pay for in `customers`,
-- which they can read and only the app's server can write. The first three statements are what Supabase itself has.

create schema auth;

create table auth.users (
  id    uuid primary key default gen_random_uuid(),
  email text unique
);

create function auth.uid() returns uuid
  language sql stable
  return nullif(current_setting('request.jwt.claim.sub', true), '')::uuid;

create table profiles (
  id         uuid primary key references auth.users (id),
  full_name  text,
  avatar_url text
);

alter table profiles enable row level security;

create policy "People see their profile" on profiles for select using (auth.uid() = id);

create policy "People change their profile" on profiles for update using (auth.uid() = id);

create type subscription_status as enum (
  'trialing', 'active', 'canceled', 'incomplete', 'incomplete_expired', 'past_due', 'unpaid', 'paused'
);

create table customers (
  id                     uuid primary key references auth.users (id),
  stripe_customer_id     text unique,
  stripe_subscription_id text,
  subscription_status    subscription_status,
  price_id               text,
  quantity               integer,
  cancel_at_period_end   boolean,
  current_period_end     timestamptz,
  trial_end              timestamptz
);

alter table customers enable row level security;

create policy "People see what they pay for" on customers for select using (auth.uid() = id);
