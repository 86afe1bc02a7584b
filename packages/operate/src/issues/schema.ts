import type { FeatureSchema } from 'instep-engine/postgres';

/** What operators are shown besides what the engine knows. */
export const OPERATE_SCHEMA: FeatureSchema = {
  name: 'operate',
  migrations: [
    {
      owner: 'operate',
      version: 1,
      name: '0001_operate',
      compatibleFrom: 1,
      sql: `
-- What each process has refused in a minute because its signature is of another secret.
create table instep.refusals (
  -- deliveries or sessions
  kind      text        not null,
  refused   bigint      not null,
  -- The first one.
  since     timestamptz not null,
  stored_at timestamptz not null default now()
);

-- What operators did.
create table instep.operator_actions (
  id                 bigint      primary key generated always as identity,
  -- One submission of a form in the console; it can concern many teams.
  form_id            uuid        not null,
  -- Such as \`team:1\`, \`customer:cus_1\` or \`event:1\`.
  subject            text        not null,
  action             text        not null,
  is_done            boolean     not null,
  note               text,
  acted_at           timestamptz not null default now(),
  -- Who acted, and through which program.
  operator           text        not null,
  operator_how       text        not null,
  -- The result as a code with its data.
  outcome            jsonb       not null,
  -- The team that got a customer.
  linked_team_id     text
);

create index operator_actions_of_form on instep.operator_actions (form_id);

create index operator_actions_by_time on instep.operator_actions (acted_at);

-- For a team's timeline and for dismissals. A dismissed issue stays hidden until it is found again in another state.
create index operator_actions_of_subject on instep.operator_actions (subject, acted_at);

create index operator_actions_links on instep.operator_actions (linked_team_id)
  where linked_team_id is not null;

insert into instep.leased_jobs (name)
values ('alerts');
`,
    },
  ],
};
