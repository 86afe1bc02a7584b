import { parseLogged } from 'instep-engine/log';
import { fold, KnownEvents, NO_STATE, writeState } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { repetitions } from '../../support/test-length.ts';
import {
  AUDIT,
  type Counts,
  CUSTOMERS,
  killBackends,
  sendEvents,
  useTeams,
} from '../support/concurrent-app.ts';
import { DRIVERS } from '../support/drivers.ts';
import { openEngineDatabase, openLog } from '../support/engine-database.ts';

const INSTANCES = 4;
const SENDERS = 4;
const RUN_MS = repetitions(4_000, 15_000);

test.each(Object.entries(DRIVERS))(
  'instances over %s that share customers lose nothing and agree, while the app uses the teams and backends are killed',
  {
    timeout: RUN_MS + 60_000,
  },
  async (driver, open) => {
    const { url, pool, database, query } = await openEngineDatabase();
    await query(AUDIT);
    // Half of the teams get their customer later, so that events wait for them.
    await query(`
    insert into teams (stripe_customer_id)
    select case when number % 2 = 0 then 'cus_' || number end from generate_series(1, 12) as number`);
    const counts = new Map<string, Counts>();
    const endMs = Date.now() + RUN_MS;
    const instances = await Promise.all(Array.from({ length: INSTANCES }, () => open(url)));
    const sending = instances.flatMap((instance) => {
      const log = openLog(instance.database);
      return Array.from({ length: SENDERS }, () => sendEvents(log, endMs, counts));
    });
    const killing = killBackends(pool, endMs);
    const using = useTeams(pool, endMs);
    await Promise.all([...sending, using]);
    const killed = await killing;
    await query(`update teams set stripe_customer_id = 'cus_' || id`);
    const log = openLog(database);
    for (const customerId of CUSTOMERS) await log.settle(customerId);
    await Promise.all(instances.map(({ close }) => close()));

    expect(killed).toBeGreaterThan(0);
    expect(counts.size).toBeGreaterThan(CUSTOMERS.length);
    const rows = await query('select key::text, deliveries from instep.events');
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(counts.keys()));
    for (const { key, deliveries } of rows) {
      const { sent = 0, acknowledged = 0 } = counts.get(key) ?? {};
      // An attempt that failed can have been stored.
      expect(deliveries).toBeGreaterThanOrEqual(acknowledged);
      // `postgres` can't cancel a statement: one that was given up and tried again can have been committed, and counts twice.
      if (driver !== 'postgres') expect(deliveries).toBeLessThanOrEqual(sent);
    }
    for (const customerId of CUSTOMERS) await checkCustomer(customerId, query);
  },
);

type Query = (text: string, values?: unknown[]) => Promise<Record<string, never>[]>;

async function checkCustomer(customerId: string, query: Query): Promise<void> {
  // The events, one after the other in the order of their positions, lead to the same outcomes and the same state.
  const logged = await query(
    `select position, key::text, event_id as "eventId", type, customer_id as "customerId", 0 as "receivedAtMs",
            outcome, parked_outcome as "parkedOutcome", body
       from instep.events
      where customer_id = $1
      order by position`,
    [customerId],
  );
  const known = new KnownEvents();
  let state = NO_STATE;
  const serial = logged.map((row) => {
    const event = parseLogged(row as never);
    if (event === null) throw new RangeError('the event was read before');
    const folded = fold(state, event, known, 'newest');
    state = folded.state;
    known.add(event);
    return folded.outcome;
  });
  expect(logged.map(({ outcome }) => outcome)).toEqual(serial);
  const [customer] = await query(
    `select *, subscriptions::text as text from instep.customers where customer_id = $1`,
    [customerId],
  );
  expect(customer?.text ?? writeState(NO_STATE)).toBe(writeState(state));

  // The outbox has every change that a trigger has seen, with the values before and after it.
  const teamId = customerId.replace('cus_', '');
  const changes = await query(
    `select row(subscription_status_before, plan_name_before, provider_product_id_before, provider_subscription_id_before)::text as before,
            row(subscription_status_after, plan_name_after, provider_product_id_after, provider_subscription_id_after)::text as after
       from instep.plan_changes where team_id = $1 order by id`,
    [teamId],
  );
  const audit = await query('select * from audit where team_id = $1 order by id', [teamId]);
  const made = audit.filter(({ is_app }) => !is_app);
  expect(changes).toEqual(made.map(({ before, after }) => ({ before, after })));

  // The team has its customer's plan, unless the app wrote its row last.
  const [team] = await query('select * from teams where id = $1', [teamId]);
  if (audit.at(-1)?.is_app) return;
  expect(team).toMatchObject({
    subscription_status: customer?.subscription_status,
    plan_name: customer?.plan_name,
    stripe_product_id: customer?.provider_product_id,
    stripe_subscription_id: customer?.provider_subscription_id,
  });
}
