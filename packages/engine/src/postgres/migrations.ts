import { ENGINE_SCHEMA } from './schema.ts';

/** A change of the schema. A released one is never changed. */
export type Migration = {
  /** `engine`, or the name of the feature whose tables these are. */
  readonly owner: string;
  readonly version: number;
  readonly name: string;
  /**
   * Programs that know this version still work after the migration: they write what it needs, and
   * read nothing that it removes. Instances of such a program stay ready beside the newer ones.
   */
  readonly compatibleFrom: number;
  readonly sql: string;
};

/** The engine's, in order. They are a module rather than SQL files, so that an app's bundler finds them. */
export const ENGINE_MIGRATIONS: readonly Migration[] = [
  {
    owner: 'engine',
    version: 1,
    name: '0001_engine',
    compatibleFrom: 1,
    sql: `
${ENGINE_SCHEMA}

-- THE SCHEMA ITSELF

create table instep.migrations (
  -- The engine or a feature, which has the tables.
  owner           text        not null,
  version         integer     not null,
  name            text        not null,
  -- The oldest migration of this owner whose program still works after this one.
  compatible_from integer     not null,
  applied_at      timestamptz not null default now(),
  primary key (owner, version)
);


-- EVENTS

-- One row: how far the event log has been pruned.
create table instep.pruning (
  is_only_row   boolean     primary key default true check (is_only_row),
  -- Events received before this time can be gone; null: none is.
  pruned_before timestamptz
);

insert into instep.pruning default values;


-- ISSUES

-- What the last comparison of a team found. It counts only while the team's row is the compared one.
create table instep.findings (
  customer_id text        not null,
  -- Empty for a customer without a team.
  team_id     text        not null,
  problem     text        not null,
  -- The compared plan, and the one that it should be; null when the customer is the problem.
  plan        jsonb,
  should_be   jsonb,
  -- When the problem began at the earliest; null: unknown.
  began_at    timestamptz,
  -- When it was first found like this, and when last.
  found_at    timestamptz not null default now(),
  seen_at     timestamptz not null default now(),
  -- The constraint that refuses a plan; null: the database names none.
  refused_by  text,
  primary key (customer_id, team_id)
);


-- MAINTENANCE

-- Jobs that one instance at a time runs, and that another instance continues after a crash.
create table instep.leased_jobs (
  name          text        primary key,
  holder        text,
  held_until    timestamptz,
  -- The last run; one that has not ended is to be continued.
  started_at    timestamptz,
  ended_at      timestamptz,
  -- The job's own record of how far it is.
  progress      jsonb,
  -- The code of the last run's error, also of a job without a lease; null: it did not fail.
  failure_code  text,
  -- When the first of the failures in a row happened, and the last, and when the job is tried again.
  failing_since timestamptz,
  failed_at     timestamptz,
  attempt_at    timestamptz
);

insert into instep.leased_jobs (name)
values ('access-rules'),
       ('ambiguous-order'),
       ('catch-up'),
       ('empty-teams'),
       ('first-subscriptions'),
       ('new-customers'),
       ('parked-events'),
       ('plan-names'),
       ('product-names'),
       ('reconcile'),
       ('retention'),
       ('unconfirmed-ends');

-- The customers of teams about whom Stripe was asked.
create table instep.asked_customers (
  customer_id    text        primary key,
  -- When Stripe was asked first, or last asked to be asked by an app.
  first_asked_at timestamptz not null,
  -- When it was asked for its last answer; null: an app needs a newer one.
  asked_at       timestamptz,
  -- When to ask again, because of that, or because it had no subscription; null: its events will tell.
  again_at       timestamptz
);

create index asked_customers_again on instep.asked_customers (again_at) where again_at is not null;

-- The subscriptions of teams' customers that a reconciliation in progress has found in Stripe's list.
create table instep.listed_subscriptions (
  customer_id     text        not null,
  subscription_id text        not null,
  details         json        not null,
  -- The row includes every change up to this time.
  as_of           timestamptz not null,
  primary key (customer_id, subscription_id)
);


-- USERS AND TEAMS
-- The application's own tables, for an application that has neither yet, or only teams. Tables or views that exist
-- are used as they are. An empty table beside the application's other one would hide that the
-- application keeps its rows elsewhere, so the check of the tables reports a single one.

do $$
declare
  -- src/postgres/migrate.ts sets it to false if the configuration declares the tables, and to teams without the profile.
  creates text := coalesce(current_setting('instep.creates_tables', true), 'true');
begin
  if creates <> 'false'
     and (creates = 'teams' or (to_regclass('users') is null and to_regclass('"User"') is null))
     and to_regclass('teams') is null and to_regclass('"Team"') is null
  then
    -- As for a role with that name: PostgreSQL's search path begins with "$user".
    if current_schema() = 'instep' then
      set local search_path = public;
    end if;

    if creates <> 'teams' then
      create table users (
        id            integer     primary key generated by default as identity,
        name          text,
        email         text        not null unique,
        password_hash text        not null,
        role          text        not null default 'member',
        created_at    timestamptz not null default now(),
        updated_at    timestamptz not null default now(),
        deleted_at    timestamptz
      );
    end if;

    create table teams (
      id                       integer     primary key generated by default as identity,
      name                     text        not null,
      created_at               timestamptz not null default now(),
      updated_at               timestamptz not null default now(),
      provider_customer_id     text        unique,
      provider_subscription_id text,
      provider_product_id      text,
      plan_name                text,
      subscription_status      text
    ) with (fillfactor = 80);
  end if;
end
$$;
`,
  },
];

/** The version of an owner's last migration. */
export function newestVersion(migrations: readonly Migration[], owner: string): number {
  return migrations.findLast((migration) => migration.owner === owner)?.version ?? 0;
}
