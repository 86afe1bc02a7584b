import type { FeatureSchema } from 'instep-engine/postgres';

/** The table of the feature that passes on the changes of plans. */
export const CHANGES_SCHEMA: FeatureSchema = {
  name: 'changes',
  migrations: [
    {
      owner: 'changes',
      version: 1,
      name: '0001_changes',
      compatibleFrom: 1,
      sql: `
-- The changes that a consumer has taken, until it has handled them (docs/changes.md). A consumer is a leased job, whose
-- progress is the id of the last change that it has taken.
create table instep.waiting_plan_changes (
  change_id    bigint      not null references instep.plan_changes on delete cascade,
  job          text        not null references instep.leased_jobs on delete cascade,
  team_id      text        not null,
  failures     integer     not null default 0,
  retry_at     timestamptz not null,
  -- The message of the last failure.
  error        text,
  -- After too many failures: an operator replays it. Later changes of the team no longer wait for it.
  set_aside_at timestamptz,
  primary key (change_id, job)
);

create index waiting_plan_changes_set_aside on instep.waiting_plan_changes (job, change_id)
  where set_aside_at is not null;

create index waiting_plan_changes_of_job on instep.waiting_plan_changes (job, team_id, change_id);
`,
    },
  ],
};
