export const sql = `
-- Every change of a team's plan, written in the transaction of the change (docs/changes.md).
create table instep.plan_changes (
  -- The ids of one team's changes are in the order of their commits. Across teams, a lower id can be committed later.
  id                              bigint      primary key generated always as identity,
  team_id                         text        not null,
  customer_id                     text,
  -- Not the beginning of the transaction, which can wait for the team while another one changes its plan.
  changed_at                      timestamptz not null default clock_timestamp(),
  -- Since when the row can have differed, for a change that the application made itself and Instep noticed later.
  possible_since                  timestamptz,
  cause                           text        not null
    check (cause in ('event', 'snapshot', 'repair', 'rebuild', 'link', 'grant', 'grant_ended', 'name', 'operator',
                     'app')),
  event_id                        text,
  -- Stripe's time.
  event_created_at                timestamptz,
  operator                        text,
  subscription_status_before      text,
  plan_name_before                text,
  provider_product_id_before      text,
  provider_subscription_id_before text,
  subscription_status_after       text,
  plan_name_after                 text,
  provider_product_id_after       text,
  provider_subscription_id_after  text
);

create index plan_changes_of_team on instep.plan_changes (team_id, id);
`;
