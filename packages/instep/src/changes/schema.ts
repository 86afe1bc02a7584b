import type { FeatureSchema } from 'instep-engine/postgres';

/** The tables of the feature that passes on the changes of plans. */
export const CHANGES_SCHEMA: FeatureSchema = {
  name: 'changes',
  migrations: [
    {
      owner: 'changes',
      version: 1,
      name: '0001_changes',
      compatibleFrom: 1,
      sql: `
-- Who is told of the changes of plans, and how far (docs/changes.md).
create table instep.plan_change_consumers (
  name       text        primary key,
  -- Every change up to this one was passed to the consumer, or waits in the table below.
  position   bigint      not null,
  created_at timestamptz not null default now()
);

-- Changes that a consumer failed to handle, and the later ones of the same team, which wait behind them.
create table instep.waiting_plan_changes (
  change_id    bigint      not null references instep.plan_changes on delete cascade,
  consumer     text        not null references instep.plan_change_consumers on delete cascade,
  team_id      text        not null,
  failures     integer     not null default 0,
  retry_at     timestamptz not null,
  -- The message of the last failure.
  error        text,
  -- After too many failures: an operator replays it. Later changes of the team no longer wait for it.
  set_aside_at timestamptz,
  primary key (change_id, consumer)
);

create index waiting_plan_changes_set_aside on instep.waiting_plan_changes (consumer, change_id)
  where set_aside_at is not null;

create index waiting_plan_changes_of_consumer on instep.waiting_plan_changes (consumer, team_id, change_id);
`,
    },
  ],
};
