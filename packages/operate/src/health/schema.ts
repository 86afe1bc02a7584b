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
-- The price of a subscription's first item, from an event or a snapshot in any API version.
-- No row for a body that jsonb rejects, so that one event does not fail the list of customers who are charged twice.
create function instep.subscription_price(body bytea)
  returns table (
    price_id    text,
    unit_amount bigint,
    currency    text
  )
  language plpgsql stable as
$body$
declare
  subscription jsonb;
  item         jsonb;
  price        jsonb;
begin
  subscription := convert_from(body, 'UTF8')::jsonb #> '{data,object}';
  item := subscription #> '{items,data,0}';
  price := coalesce(nullif(item -> 'price', 'null'), nullif(item -> 'plan', 'null'),
                    subscription -> 'plan');
  return query select
    price ->> 'id',
    coalesce(price ->> 'unit_amount', price ->> 'amount')::bigint,
    coalesce(price ->> 'currency', subscription ->> 'currency');
exception
  when data_exception then
    return;
end
$body$;

-- What was refused because its signature is of another secret: one row for each kind, as long as it goes on.
create table instep.refusals (
  -- deliveries or sessions
  kind     text        primary key,
  count    bigint      not null,
  first_at timestamptz not null,
  last_at  timestamptz not null
);

insert into instep.leased_jobs (name)
values ('alerts');
`,
    },
  ],
};
