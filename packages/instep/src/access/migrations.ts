import type { Migration } from 'instep-engine/postgres';

/** The policy of access. */
export const ACCESS_MIGRATIONS: readonly Migration[] = [
  {
    owner: 'access',
    version: 1,
    name: '0001_access',
    compatibleFrom: 1,
    sql: `
-- One row: when a team has access (docs/access.md), as the instance that started last was configured.
create table instep.access_policy (
  is_only_row    boolean  primary key default true check (is_only_row),
  plan_selection text     not null,
  -- How long a team keeps access while a payment is due; null: without limit.
  past_due_grace interval,
  -- The policy, as text, of an instance that is running with another one, and when it said so.
  other_policy   text,
  other_seen_at  timestamptz
);

insert into instep.access_policy (plan_selection)
values ('newest');
`,
  },
];
