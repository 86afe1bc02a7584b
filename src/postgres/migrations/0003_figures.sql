-- What the overview draws: the log in sums, so that no page counts it (docs/decisions/0016).
--
-- It makes tables and touches none that is there: however long the log is, it takes a moment, and
-- no writer waits. The keeper fills them afterwards, in small steps.

create table instep.figures (
  -- How long the slot is: a minute, a quarter of an hour, or two hours.
  slot_seconds integer     not null,
  starts_at    timestamptz not null,
  outcome      text        not null,
  -- How late Stripe delivered them: see src/queries/delay-buckets.ts. -1: nothing tells.
  delay_bucket smallint    not null,
  count        bigint      not null,
  primary key (slot_seconds, starts_at, outcome, delay_bucket)
) with (fillfactor = 70);

-- The one row that says what of the log is in the sums: what is after the one position, up to the other.
create table instep.figures_progress (
  is_only_row    boolean primary key default true check (is_only_row),
  -- Null until the first sum.
  after_position bigint,
  up_to_position bigint
);

-- The events that are in the sums as parked, since only of these the outcome may still change.
create table instep.figures_parked (
  position     bigint      primary key,
  received_at  timestamptz not null,
  delay_bucket smallint    not null
);

-- The teams by their status, as they were counted last.
create table instep.team_counts (
  is_only_row boolean     primary key default true check (is_only_row),
  counted_at  timestamptz not null,
  -- How long counting takes, so that it is not done too often.
  took        interval    not null,
  -- A number of teams for each status; null until the first count is done.
  by_status   jsonb
);

insert into instep.team_counts (counted_at, took) values ('-infinity', '0');
