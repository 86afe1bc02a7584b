-- The list of what was run. Unlike the files after it, this one runs before each of them.

create schema if not exists instep;

create table if not exists instep.migrations (
  version    integer primary key,
  name       text        not null,
  applied_at timestamptz not null default now()
);
