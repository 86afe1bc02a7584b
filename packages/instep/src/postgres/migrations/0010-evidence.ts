export const sql = `
-- The responses to deliveries, by the minute. Each instance adds its own once a minute.
create table instep.responses (
  starts_at timestamptz not null,
  status    smallint    not null,
  -- Why it was refused (src/maintenance/responses.ts); empty for an accepted one.
  code      text        not null,
  count     bigint      not null,
  primary key (starts_at, status, code)
) with (fillfactor = 70);

-- The jobs of maintenance whose last run failed.
create table instep.failed_jobs (
  job        text        primary key,
  -- The code of the error.
  code       text        not null,
  -- When the first of the failures in a row happened.
  since      timestamptz not null,
  failed_at  timestamptz not null,
  attempt_at timestamptz not null
);
`;
