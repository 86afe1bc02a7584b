import type { Ask } from '../database/bench-postgres.ts';

/** The size and the time of the history. */
type History = {
  readonly events: number;
  readonly teams: number;
  /** When the first event was created, in seconds since 1970. */
  readonly firstSeconds: number;
  readonly eventsPerSecond: number;
};

/** When the load's events are created (load/subscription-event.ts). */
export const LOAD_TIMES = { firstSeconds: 1_750_000_000, eventsPerSecond: 1_000 } as const;

/** The events that one statement inserts. */
const CHUNK = 500_000;

/** The content of each event as in load/subscription-event.ts, in SQL. */
export const CONTENT = `
  select number,
         (number * 7919) % $3 + 1 as team,
         'cus_Bench' || lpad(((number * 7919) % $3 + 1)::text, 9, '0') as customer_id,
         'sub_1Bench' || lpad(((number * 7919) % $3 + 1)::text, 18, '0') as subscription_id,
         $4::bigint + floor(number / $5::double precision)::bigint as created,
         case (number / $3) % 2 when 0 then 'active' else 'trialing' end as status,
         'prod_Bench' || lpad(((number / $3) % 3)::text, 9, '0') as product_id,
         (array['Starter', 'Pro', 'Scale'])[(number / $3) % 3 + 1] as plan_name
    from generate_series($1::bigint, $2::bigint) as number`;

/** Keys as the product creates them, except for the hash of the content. */
export const KEY = `
  (lpad(to_hex(created), 8, '0')
    || left(encode(sha256(convert_to(subscription_id, 'UTF8')), 'hex'), 8)
    || left(md5(number::text), 16))::uuid`;

/** The bodies are short, because bodies that are not read do not affect the speed. */
const LOG = `
  with content as (${CONTENT})
  insert into instep.events (key, event_id, type, customer_id, subscription_id, created_at,
                             received_at, deliveries, outcome, body)
  select ${KEY},
         'evt_1Bench' || lpad(number::text, 18, '0'),
         'customer.subscription.updated',
         customer_id,
         subscription_id,
         to_timestamp(created),
         now(),
         1,
         'applied',
         convert_to(format('{"id":"evt_1Bench%s","created":%s}', lpad(number::text, 18, '0'),
                           created), 'UTF8')
    from content`;

/** The states that the last event of each customer leaves (packages/engine/src/rule/state-json.ts). */
const CUSTOMERS = `
  with content as (${CONTENT})
  insert into instep.customers (customer_id, version, subscriptions, subscription_ids, subscription_status,
                                plan_name, provider_product_id, provider_subscription_id, access_rules,
                                access_subscription_id, access_status, access_product_id, access_plan_name,
                                access_since, access_grants_plan, grants_plan, had_team)
  select customer_id,
         1,
         json_build_object('version', 1, 'subscriptions', json_build_array(json_build_object(
           'id', subscription_id,
           'latest', json_build_object(
             'created', created,
             'subscriptionStatus', status,
             'planName', plan_name,
             'providerProductId', product_id,
             'providerSubscriptionId', subscription_id),
           'since', created,
           'deciding', 'latest'))),
         array[subscription_id],
         status,
         plan_name,
         product_id,
         subscription_id,
         'newest',
         subscription_id,
         status,
         product_id,
         plan_name,
         to_timestamp(created),
         true,
         true,
         true
    from content`;

const TEAMS = `
  with content as (${CONTENT})
  update teams
     set provider_subscription_id = subscription_id,
         provider_product_id      = product_id,
         plan_name                = content.plan_name,
         subscription_status      = status
    from content
   where id = team`;

/**
 * Fills Instep's tables as if this many events of the load had been ingested, equally many for each
 * team. The next event has the number `events`. `log` writes a range of them into the log.
 */
export async function seedHistory(
  ask: Ask,
  { events, teams, firstSeconds, eventsPerSecond }: History,
  onLogged: (events: number) => void,
  log = LOG,
): Promise<void> {
  for (let from = 0; from < events; from += CHUNK) {
    const last = Math.min(events, from + CHUNK) - 1;
    await ask(log, [from, last, teams, firstSeconds, eventsPerSecond]);
    onLogged(last + 1);
  }
  const first = Math.max(0, events - teams);
  const lastTurn = [first, events - 1, teams, firstSeconds, eventsPerSecond];
  await ask(CUSTOMERS, lastTurn);
  await ask(TEAMS, lastTurn);
  await ask('vacuum analyze');
}
