import type { Statement } from 'instep-engine/postgres';
import { writeState } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import {
  openEngineDatabase,
  openLog,
  receivedFrom,
  STARTER_TEAMS,
  sentEvent,
} from '../support/engine-database.ts';

const TEAM = `
  select stripe_subscription_id as sub, stripe_product_id as product, plan_name as name, subscription_status as status
    from teams order by id`;

const STATE = 'select subscriptions::text as state from instep.customers';

const LOG = 'select outcome, deliveries from instep.events order by position';

test('an event gives its team the plan, and leaves the log, the state and the change', async () => {
  const { database, query } = await openEngineDatabase();
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const log = openLog(database);
  const event = sentEvent({ createdSeconds: 100 });
  const [result] = await log.ingest([event]);
  const outcomes = { outcome: 'applied', loggedOutcome: 'applied' };
  expect(result).toEqual({ ...outcomes, teamIds: [1], keptTeamIds: [] });
  expect(await query(TEAM)).toEqual([
    { sub: 'sub_1', product: 'prod_pro', name: 'Pro', status: 'active' },
  ]);
  const [logged] = await query('select * from instep.events');
  expect(logged).toMatchObject({ outcome: 'applied', deliveries: 1, event_id: event.eventId });
  expect(Buffer.compare(logged.body, Buffer.from(event.body))).toBe(0);
  expect(await query('select * from instep.customers')).toMatchObject([
    {
      ...{ customer_id: 'cus_1', version: '1', subscription_status: 'active', plan_name: 'Pro' },
      ...{ access_status: 'active', access_since: new Date(100_000), access_grants_plan: true },
      ...{
        quantity: '1',
        price_id: 'price_1',
        charged_twice: null,
        ambiguous_since: null,
        waiting: null,
      },
      ...{ subscription_ids: ['sub_1'], grants_plan: true, had_team: true, access_rules: 'newest' },
    },
  ]);
  expect(await query('select * from instep.plan_changes')).toMatchObject([
    {
      ...{ team_id: '1', customer_id: 'cus_1', cause: 'event', event_id: event.eventId },
      ...{ subscription_status_before: null, subscription_status_after: 'active' },
      ...{ plan_name_after: 'Pro', event_created_at: new Date(100_000) },
    },
  ]);
});

test('outcomes and deliveries are those of the contract, in one batch or several', async () => {
  const { database, query } = await openEngineDatabase();
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const log = openLog(database);
  const paid = sentEvent({ createdSeconds: 100 });
  const older = sentEvent({ createdSeconds: 50, status: 'unpaid' });
  const due = sentEvent({ createdSeconds: 150, status: 'past_due' });
  const end = sentEvent({ createdSeconds: 200, status: 'canceled' });
  const outcomes = async (...events: (typeof paid)[]) =>
    (await log.ingest(events)).map(({ outcome }) => outcome);
  expect(await outcomes(paid, older, paid)).toEqual(['applied', 'stale', 'duplicate']);
  expect(await outcomes(due, paid)).toEqual(['unchanged', 'duplicate']);
  expect(await outcomes(end)).toEqual(['applied']);
  expect(await query(LOG)).toEqual([
    { outcome: 'applied', deliveries: 3 },
    { outcome: 'stale', deliveries: 1 },
    { outcome: 'unchanged', deliveries: 1 },
    { outcome: 'applied', deliveries: 1 },
  ]);
  expect(await query(TEAM)).toEqual([{ sub: null, product: null, name: null, status: 'canceled' }]);
});

test('a row with a time that Stripe never has gets its plan', async () => {
  const { database, query } = await openEngineDatabase();
  await query('alter table teams add trial_ends_at timestamp');
  const times = ['infinity', '-infinity', '20000-01-01', '0044-03-15 BC', '1970-01-01'];
  await query(
    `insert into teams (stripe_customer_id, trial_ends_at) select 'cus_' || n, time from unnest($1::timestamp[]) with ordinality as t (time, n)`,
    [times],
  );
  const plan = new Map([
    ...STARTER_TEAMS.plan,
    ['trialEndsAt', { name: 'trial_ends_at', type: 'timestamp', isNullable: true }] as const,
  ]);
  const log = openLog(database, { findTeams: async () => ({ ...STARTER_TEAMS, plan }) });
  const events = times.map((_, index) =>
    sentEvent({ customerId: `cus_${index + 1}`, subscriptionId: `sub_${index + 1}` }),
  );
  for (const { outcome } of await log.ingest(events)) expect(outcome).toBe('applied');
  const rows = await query(
    'select subscription_status as status, trial_ends_at as time from teams',
  );
  expect(rows).toEqual(times.map(() => ({ status: 'active', time: null })));
});

test('an event keeps the outcome that a newer version gave it, if this one can not read it', async () => {
  const { database, query } = await openEngineDatabase();
  const log = openLog(database);
  const read = sentEvent({ createdSeconds: null });
  await log.ingest([read]);
  const { key, eventId, type, body, receivedAtMs, source } = read;
  const common = { key, eventId, type, body, receivedAtMs, source };
  const [result] = await log.ingest([{ kind: 'unreadable', problem: 'is missing', ...common }]);
  expect(result?.outcome).toBe('duplicate');
  expect(await query('select outcome, parked_outcome, deliveries from instep.events')).toEqual([
    { outcome: 'parked', parked_outcome: 'applied', deliveries: 2 },
  ]);
});

test('an event without `created` that comes again is a duplicate, whenever that is', async () => {
  const { database, query } = await openEngineDatabase();
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const log = openLog(database);
  const { body } = sentEvent({ createdSeconds: null });
  const text = Buffer.from(body).toString();
  await log.ingest([receivedFrom(text, { receivedAtMs: 1_000_000 })]);
  const [again] = await log.ingest([receivedFrom(text, { receivedAtMs: 9_000_000 })]);
  expect(again?.outcome).toBe('duplicate');
  expect(await query(LOG)).toEqual([{ outcome: 'applied', deliveries: 2 }]);
});

test('a duplicate reads the events of its own second, however many its customer has', async () => {
  const { database, query } = await openEngineDatabase();
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const reads: Statement[] = [];
  const log = openLog({
    run(statement, timeoutMs) {
      if (statement.name === 'read_needed_events') reads.push(statement);
      return database.run(statement, timeoutMs);
    },
  });
  const event = sentEvent({ createdSeconds: 100 });
  await log.ingest([event]);
  await query(`
    insert into instep.events (key, type, customer_id, subscription_id, created_at, received_at, deliveries, outcome, body)
    select gen_random_uuid(), type, customer_id, subscription_id, created_at + interval '1 second' * second,
           received_at, 1, 'stale', body
      from instep.events
     cross join generate_series(-1000, 1000) as second
     where second <> 0`);
  await query('analyze instep.events');
  expect(await log.ingest([event])).toMatchObject([{ outcome: 'duplicate' }]);
  const [{ text, values } = { text: '', values: [] }] = reads;
  const plan = await query(`explain (analyze, format json) ${text}`, [...values]);
  const counted = JSON.stringify(plan).matchAll(
    /"Relation Name":"events".*?"Actual Rows":(\d+)|Removed by[^:]*":(\d+)/g,
  );
  const examined = [...counted].map(([, found, removed]) => Number(found ?? removed));
  expect(examined.reduce((sum, count) => sum + count, 0)).toBeLessThan(10);
});

test('the event that finds the team also gives it what waited', async () => {
  const { database, query } = await openEngineDatabase();
  const log = openLog(database);
  await log.ingest([sentEvent({ createdSeconds: 100 })]);
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const [result] = await log.ingest([sentEvent({ createdSeconds: 150, status: 'past_due' })]);
  expect(result).toMatchObject({ outcome: 'unchanged', teamIds: [1] });
  expect((await query(TEAM))[0]).toMatchObject({ status: 'active' });
  expect((await query(LOG)).map(({ outcome }) => outcome)).toEqual(['applied', 'unchanged']);
});

test('settle keeps a plan that the app writes after its row was read', async () => {
  const { database, query } = await openEngineDatabase();
  await openLog(database).ingest([sentEvent()]);
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const log = openLog({
    async run(statement, timeoutMs) {
      const rows = await database.run(statement, timeoutMs);
      if (statement.name === 'read_customers') await query(`update teams set plan_name = 'Gift'`);
      return rows as never;
    },
  });
  expect(await log.settle('cus_1')).toBe(false);
  expect(await query('select plan_name, subscription_status from teams')).toEqual([
    { plan_name: 'Gift', subscription_status: null },
  ]);
});

test('a team that the app changes between the read and the write is decided again', async () => {
  const { database, query } = await openEngineDatabase();
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  let changes = 0;
  const log = openLog({
    async run(statement, timeoutMs) {
      const rows = await database.run(statement, timeoutMs);
      if (statement.name === 'read_customers' && changes < 2) {
        changes += 1;
        await query(`update teams set plan_name = 'by the app ${changes}' where id = 1`);
      }
      return rows as never;
    },
  });
  await log.ingest([sentEvent()]);
  expect(await query('select plan_name_before, plan_name_after from instep.plan_changes')).toEqual([
    { plan_name_before: 'by the app 2', plan_name_after: 'Pro' },
  ]);
});

test('a rebuild of the log yields the stored state, byte for byte, and repairs another one', async () => {
  const { database, query } = await openEngineDatabase();
  await query(`insert into teams (stripe_customer_id) values ('cus_1')`);
  const log = openLog(database);
  const statuses = ['incomplete', 'active', 'past_due', 'active', 'canceled'];
  const events = statuses.flatMap((status, index) => [
    sentEvent({ status, createdSeconds: 100 - 10 * index }),
    sentEvent({ status, createdSeconds: 50 + 10 * index, subscriptionId: 'sub_2' }),
  ]);
  await log.ingest(events);
  const { stored, rebuilt, subscriptionIds } = await log.rebuild('cus_1');
  expect(writeState(rebuilt.state)).toBe(writeState(stored));
  expect(subscriptionIds).toEqual([]);
  const [before] = await query(STATE);
  await query(`update instep.customers set subscriptions = '{"version":1,"subscriptions":[]}'`);
  expect((await log.rebuild('cus_1', true)).subscriptionIds).toEqual(['sub_1', 'sub_2']);
  expect(await query(STATE)).not.toEqual([before]);
  expect((await log.rebuild('cus_1')).subscriptionIds).toEqual(['sub_1', 'sub_2']);
  expect(await query(STATE)).toEqual([before]);
  expect((await log.rebuild('cus_1')).subscriptionIds).toEqual([]);
});
