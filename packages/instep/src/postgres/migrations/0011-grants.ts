export const sql = `
-- The plans that teams were given without a subscription, with who and why (docs/grants.md).
create table instep.grants (
  id         bigint      primary key generated always as identity,
  team_id    text        not null,
  plan_name  text        not null,
  product_id text,
  -- Null: without an end.
  ends_at    timestamptz,
  reason     text        not null,
  granted_at timestamptz not null default now(),
  granted_by text        not null,
  -- An operator revoked it, or replaced it.
  revoked_at timestamptz,
  revoked_by text,
  -- Since when the team's row no longer follows it, which is a moment after its end.
  closed_at  timestamptz
);

-- A team has one grant at a time. Also finds those whose end has come.
create unique index grants_open on instep.grants (team_id) where closed_at is null;

create index grants_of_team on instep.grants (team_id, id);

insert into instep.leased_jobs (name)
values ('grants');
`;
