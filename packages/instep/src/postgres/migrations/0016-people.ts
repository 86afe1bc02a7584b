export const sql = `
-- What operators wrote about a team.
create table instep.team_notes (
  id         bigint      primary key generated always as identity,
  team_id    text        not null,
  note       text        not null,
  operator   text        not null,
  written_at timestamptz not null default now()
);

create index team_notes_of_team on instep.team_notes (team_id, id);

insert into instep.leased_jobs (name)
values ('alerts')
    on conflict do nothing;
`;
