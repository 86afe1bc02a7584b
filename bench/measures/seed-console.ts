import type { Ask } from '../database/bench-postgres.ts';
import { addUsersAndTeams } from '../systems/application-tables.ts';
import { CONTENT, KEY, seedHistory } from './seed-history.ts';

const DAY_SECONDS = 86_400;

/** The events are spread over this many days, up to now. */
const DAYS = 7;

/** One event in a thousand is of the busy team; one in five thousand is of a customer without a team. */
export const BUSY_TEAM = 1;

/** Shortly after each event was created. */
const RECEIVED_AT = `to_timestamp(created) + (0.4 + number % 40 * 0.1) * interval '1 second'`;

/**
 * A realistic log: events of all outcomes with readable bodies, a few of them parked or unreadable,
 * and one team with far more events than the others.
 */
const REALISTIC_LOG = `
  with content as (${CONTENT}),
  event as (
    select number, created, status, product_id, plan_name,
           case
             when number % 5000 = 13 then 'cus_Parked' || lpad(number::text, 9, '0')
             when number % 1000 = 500 then 'cus_Bench' || lpad('${BUSY_TEAM}', 9, '0')
             else customer_id
           end as customer_id,
           case
             when number % 1000 = 500 then 'sub_1Bench' || lpad('${BUSY_TEAM}', 18, '0')
             else subscription_id
           end as subscription_id,
           case
             when number % 100000 = 77 then 'unreadable'
             when number % 5000 = 13 then 'parked'
             when number % 50 = 1 then 'stale'
             when number % 10 = 3 then 'unchanged'
             else 'applied'
           end as outcome
      from content
  )
  insert into instep.events (key, event_id, type, customer_id, subscription_id, created_at,
                             received_at, deliveries, outcome, body)
  select ${KEY},
         'evt_1Bench' || lpad(number::text, 18, '0'),
         case number % 500
           when 7 then 'customer.subscription.deleted'
           else 'customer.subscription.updated'
         end,
         case when outcome <> 'unreadable' then customer_id end,
         case when outcome <> 'unreadable' then subscription_id end,
         case when outcome <> 'unreadable' then to_timestamp(created) end,
         ${RECEIVED_AT},
         1,
         outcome,
         convert_to(format('{"id":"evt_1Bench%s","object":"event","type":'
                             '"customer.subscription.updated","created":%s,"data":{"object":'
                             '{"id":"%s","object":"subscription","customer":"%s","status":"%s",'
                             '"items":{"data":[{"plan":{"product":"%s"}}]}},'
                             '"previous_attributes":{"status":"incomplete"}}}',
                           lpad(number::text, 18, '0'), created, subscription_id, customer_id,
                           status, product_id), 'UTF8')
    from event`;

const PRODUCTS = `
  insert into instep.products (product_id, name, looked_up_at)
  select 'prod_Bench' || lpad(number::text, 9, '0'),
         (array['Starter', 'Pro', 'Scale'])[number + 1],
         now()
    from generate_series(0, 2) as number`;

/** Some hour of the last 90 days. */
const SINCE = `now() - (right(customer_id, 9)::integer / 40 % 2160) * interval '1 hour'`;

/** Many of the oldest teams have lost their plans, and some of the others. */
const LOST_PLANS = `
  with lost as (
    update teams
       set provider_subscription_id = null,
           provider_product_id      = null,
           plan_name                = null,
           subscription_status      = case id % 40 when 0 then 'canceled' else 'unpaid' end
     where id % 20 = 0
        or id % 2 = 0 and id <= 10000
    returning provider_customer_id, subscription_status
  )
  update instep.subscriptions
     set status        = subscription_status,
         latest_status = subscription_status,
         latest_since  = ${SINCE}
    from lost
   where customer_id = provider_customer_id`;

/** One team in forty has a payment that failed. */
const PAST_DUE = `
  update instep.subscriptions
     set latest_status = 'past_due',
         latest_since  = ${SINCE}
   where right(customer_id, 9)::integer % 40 = 7`;

/** The most findings that Instep stores. */
const FINDINGS = `
  insert into instep.findings (customer_id, team_id, problem)
  select provider_customer_id, id::text,
         (array['unknown customer', 'missed event', 'plan refused'])[id % 3 + 1]
    from teams
   order by id desc
   limit 10000`;

const AMBIGUOUS = `
  update instep.subscriptions
     set is_order_ambiguous = true
   where customer_id like 'cus_Bench%7777'`;

/** The actions of busy operators in a year. */
const ACTIONS = `
  insert into instep.operator_actions
         (form_id, subject, action, is_done, outcome, operator, operator_how, acted_at)
  select gen_random_uuid(), 'team:' || number, case number % 3 when 0 then 'dismiss' else 'compare' end,
         true, '{"code":"in-sync"}', 'ada', 'console', now() - number * interval '5 minutes'
    from generate_series(1, 100000) as number`;

/** Fills a migrated database, unless it already has this many events. */
export async function seedConsole(
  ask: Ask,
  { events, teams }: { readonly events: number; readonly teams: number },
  onLogged: (events: number) => void,
): Promise<void> {
  const [newest] = await ask<{ events: string | null }>(
    'select max(position) as events from instep.events',
  );
  if (Number(newest?.events) >= events) return;
  await ask(`truncate users, teams, instep.events, instep.subscriptions, instep.products,
                      instep.findings, instep.operator_actions
             restart identity cascade`);
  await addUsersAndTeams(ask, { users: 1, teams });
  const seconds = DAYS * DAY_SECONDS;
  const firstSeconds = Math.floor(Date.now() / 1_000) - seconds;
  const history = { events, teams, firstSeconds, eventsPerSecond: events / seconds };
  await seedHistory(ask, history, onLogged, REALISTIC_LOG);
  await ask(PRODUCTS);
  for (const statement of [LOST_PLANS, PAST_DUE, FINDINGS, AMBIGUOUS, ACTIONS])
    await ask(statement);
  await ask('vacuum analyze');
}
