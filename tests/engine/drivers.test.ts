import {
  DatabaseBusy,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
  postgresJsDatabase,
} from 'instep-engine/postgres';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DRIVERS, openPostgresJs } from './support/drivers.ts';
import { openEngineDatabase, openLog, receivedFrom, sentEvent } from './support/engine-database.ts';

const TABLES = [
  'select key::text, event_id, customer_id, created_at, deliveries, outcome, parked_outcome, body from instep.events order by position',
  `select to_jsonb(customers) - 'charged_twice_since' as customer from instep.customers order by customer_id`,
  `select to_jsonb(plan_changes) - 'changed_at' as change from instep.plan_changes order by id`,
  'select id, stripe_customer_id, plan_name, subscription_status, stripe_product_id from teams order by id',
];

const AWKWARD = `a "quoted", {braced} \\ null 'name' – ü`;

/** Late events, events of one second, several API versions' text, a duplicate, a team that comes later; and all that is stored. */
async function story(name: string) {
  const { url, query } = await openEngineDatabase();
  const { database, close } = await (DRIVERS[name] ?? unknown)(url);
  onTestFinished(close);
  const log = openLog(database);
  await query(`insert into teams (stripe_customer_id) values ('cus_1'), ($1)`, [`cus_${AWKWARD}`]);
  const second = { createdSeconds: 100, eventId: 'evt_second' };
  const outcomes = [];
  for (const events of [
    [
      sentEvent({ eventId: 'evt_1', productName: null }),
      receivedFrom('{"id":"evt_x","type":"customer.subscription.updated","data":{"object":{}}}'),
    ],
    [sentEvent({ ...second, status: 'past_due', previousAttributes: { status: 'active' } })],
    [
      sentEvent({
        ...second,
        eventId: 'evt_same',
        status: 'active',
        previousAttributes: { status: 'past_due' },
      }),
    ],
    [sentEvent({ ...second, status: 'past_due', previousAttributes: { status: 'active' } })],
    [sentEvent({ eventId: 'evt_old', createdSeconds: 5, status: 'unpaid' })],
    [
      sentEvent({
        eventId: 'evt_awkward',
        customerId: `cus_${AWKWARD}`,
        subscriptionId: `sub_${AWKWARD}`,
        productName: AWKWARD,
      }),
    ],
    [sentEvent({ eventId: 'evt_later', customerId: 'cus_later', subscriptionId: 'sub_later' })],
  ]) {
    outcomes.push((await log.ingest(events)).map(({ outcome }) => outcome));
  }
  await query(`insert into teams (stripe_customer_id) values ('cus_later')`);
  expect(await log.settle('cus_later')).toBe(true);
  const { subscriptionIds } = await log.rebuild('cus_1');
  const stored = [];
  for (const text of TABLES) stored.push(await query(text));
  return { outcomes, subscriptionIds, stored };
}

function unknown(): never {
  throw new RangeError('no such driver');
}

const OTHERS = Object.keys(DRIVERS).filter((name) => name !== 'pg');

describe.each(OTHERS)('over %s', (name) => {
  test('the same is stored as over pg', async () => {
    const [expected, actual] = [await story('pg'), await story(name)];
    expect(actual).toEqual(expected);
    expect(actual.subscriptionIds).toEqual([]);
    expect(actual.outcomes.flat()).toContain('duplicate');
  });

  test('the server ends a statement in time, and its errors are those of pg', async () => {
    const { url, query } = await openEngineDatabase();
    const { database, close } = await (DRIVERS[name] ?? unknown)(url);
    onTestFinished(close);
    const run = (text: string, timeoutMs = 5_000) =>
      database.run({ name: 'test', text, values: [] }, timeoutMs);
    await expect(run('select pg_sleep(60)', 100)).rejects.toThrow(DatabaseBusy);
    await query('alter table teams add constraint no_pro check (plan_name <> $$Pro$$)');
    const refused = await run(`insert into teams (plan_name) values ('Pro')`).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(DatabaseRefused);
    expect(refused).toMatchObject({ constraint: 'no_pro' });
    await expect(run('select from nowhere')).rejects.toThrow(DatabaseUnusable);
    await expect(run('select pg_terminate_backend(pg_backend_pid())')).rejects.toThrow(
      DatabaseUnavailable,
    );
    expect(await run(`select current_setting('transaction_isolation') as it`)).toEqual([
      { it: 'read committed' },
    ]);
  });

  test('whatever the database sets, a statement runs with the settings of the engine', async () => {
    const { url, query } = await openEngineDatabase();
    await query(`
      do $$begin
        execute format('alter database %I set default_transaction_isolation = serializable', current_database());
        execute format('alter database %I set default_transaction_read_only = on', current_database());
        execute format('alter database %I set synchronous_commit = off', current_database());
      end$$`);
    const { database, close } = await (DRIVERS[name] ?? unknown)(url);
    onTestFinished(close);
    const settings = [
      'transaction_isolation',
      'transaction_read_only',
      'synchronous_commit',
      'enable_seqscan',
      'timezone',
    ];
    const text = `select ${settings.map((setting) => `current_setting('${setting}') as ${setting}`).join(', ')}`;
    const [row] = await database.run<Record<string, string>>(
      { name: 'test', text, values: [] },
      5_000,
    );
    expect(Object.values(row ?? {})).toEqual(['read committed', 'off', 'on', 'off', 'UTC']);
  });
});

test('`postgres` with a transformation of rows is refused', async () => {
  const { url } = await openEngineDatabase();
  const sql = openPostgresJs(url, { transform: { column: (name) => name.toUpperCase() } });
  onTestFinished(() => sql.end());
  expect(() => postgresJsDatabase(sql)).toThrow(DatabaseUnusable);
});
