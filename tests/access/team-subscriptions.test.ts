import { makeSnapshot, parseListedSubscription } from 'instep/src/stripe/subscription-snapshot.ts';
import { describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const at = (seconds: number) => new Date(seconds * 1_000);

/** A subscription as Stripe has sent it since 2025. */
const NEW = {
  cancel_at_period_end: false,
  cancel_at: 9_000,
  trial_end: 3_000,
  items: {
    data: [
      {
        current_period_end: 4_000,
        quantity: 5,
        plan: { id: 'plan_1', product: 'prod_1' },
        price: { id: 'price_1', currency: 'eur', unit_amount: 990, product: 'prod_1' },
      },
    ],
  },
};

const DETAILS = {
  price_id: 'price_1',
  unit_amount: 990,
  currency: 'eur',
  quantity: 5,
  current_period_end: at(4_000),
  trial_end: at(3_000),
  cancel_at: at(9_000),
  cancel_at_period_end: false,
};

const NO_DETAILS = Object.fromEntries(Object.keys(DETAILS).map((name) => [name, null]));

describe.each(postgresServers)('instep.team_subscriptions on $name', (server) => {
  const store = useDatabase(server);
  const read = (customerId: string) =>
    store.database.query('select * from instep.team_subscriptions where customer_id = $1', [
      customerId,
    ]);

  /** Delivers an event with these members in its subscription. */
  async function deliver(fields: Parameters<typeof eventBody>[0], members: object) {
    const event = JSON.parse(eventBody(fields));
    Object.assign(event.data.object, members);
    await openPipeline(store.database)([received(JSON.stringify(event))]);
  }

  test('shows the newest event, in the current shape', async () => {
    const { customerId } = await store.addTeam();
    const newest = { ...NEW, cancel_at_period_end: true };
    await deliver({ customerId, createdSeconds: 2_000, status: 'trialing' }, newest);
    await deliver({ customerId, createdSeconds: 1_000 }, NEW);
    expect(await read(customerId)).toEqual([
      {
        customer_id: customerId,
        subscription_id: 'sub_1',
        status: 'trialing',
        product_id: 'prod_1',
        plan_name: null,
        ...DETAILS,
        cancel_at_period_end: true,
        changed_at: at(2_000),
        current_status: 'trialing',
      },
    ]);
  });

  test('shows an event in the shape of 2014', async () => {
    const { customerId } = await store.addTeam();
    const old = {
      ...{ cancel_at: null, cancel_at_period_end: false, trial_end: null, currency: undefined },
      ...{ current_period_end: 4_000, quantity: 2, items: undefined },
      plan: { id: 'gold', name: 'Gold', amount: 500, currency: 'usd' },
    };
    await deliver({ customerId }, old);
    expect(await read(customerId)).toMatchObject([
      {
        ...{ plan_name: 'Gold', price_id: 'gold', unit_amount: 500, currency: 'usd', quantity: 2 },
        ...{ current_period_end: at(4_000), trial_end: null, cancel_at: null },
      },
    ]);
  });

  test('shows a subscription that a reconciliation listed', async () => {
    const { customerId } = await store.addTeam();
    const { object } = JSON.parse(eventBody({ customerId })).data;
    const listed = parseListedSubscription({ ...object, ...NEW }, 5_000);
    if (listed === null) throw new RangeError('the subscription could not be read');
    const snapshot = makeSnapshot(listed.object, {
      ...{
        createdSeconds: 5_000,
        seenKeys: null,
        takenAtMs: 5_000_000,
        nonce: () => customerId,
      },
    });
    if (snapshot === null) throw new RangeError('the snapshot could not be made');
    await openPipeline(store.database)([snapshot]);
    expect(await read(customerId)).toMatchObject([DETAILS]);
  });

  test("shows the one of several events in one second that has the team's status", async () => {
    const { customerId } = await store.addTeam();
    const second = { customerId, createdSeconds: 2_000 };
    await deliver({ ...second, status: 'active' }, NEW);
    await deliver({ ...second, status: 'past_due' }, { ...NEW, trial_end: 1 });
    expect(await read(customerId)).toMatchObject([{ status: 'active', ...DETAILS }]);
  });

  test('shows the status of the latest event too', async () => {
    const { customerId } = await store.addTeam();
    await deliver({ customerId, createdSeconds: 2_000, status: 'active' }, NEW);
    await deliver({ customerId, createdSeconds: 3_000, status: 'past_due' }, NEW);
    const expected = { status: 'active', current_status: 'past_due', changed_at: at(2_000) };
    expect(await read(customerId)).toMatchObject([expected]);
  });

  test.each([
    ['NUL', { description: 'a\0b' }],
    ['a period that is not a number', { items: { data: [{ current_period_end: 'soon' }] } }],
    ['a time out of range', { trial_end: 1e30 }],
    ['a lone surrogate', { description: '\ud800' }],
  ])('has no details of an event with %s, and does not fail', async (_, members) => {
    const { customerId } = await store.addTeam();
    await deliver({ customerId }, { ...NEW, ...members });
    expect(await read(customerId)).toMatchObject([{ status: 'active', ...NO_DETAILS }]);
  });

  test('needs only the two grants of the documentation', async () => {
    const { customerId } = await store.addTeam();
    await deliver({ customerId }, NEW);
    const rows = await store.database.transaction(async (query) => {
      await query('create role app_role');
      await query('grant usage on schema instep to app_role');
      await query('grant select on instep.team_subscriptions to app_role');
      await query('set local role app_role');
      const rows = await query(
        'select quantity from instep.team_subscriptions where customer_id = $1',
        [customerId],
      );
      await query('reset role');
      await query('drop owned by app_role');
      await query('drop role app_role');
      return rows;
    });
    expect(rows).toEqual([{ quantity: 5 }]);
  });

  test('reads the events of the requested customer only', async () => {
    const { customerId } = await store.addTeam();
    await deliver({ customerId }, NEW);
    await store.database.query(
      `insert into instep.events
              (key, event_id, type, customer_id, created_at, received_at, deliveries, outcome, body)
       select gen_random_uuid(), 'evt', 'customer.subscription.updated', 'cus_' || number, now(),
              now(), 1, 'stale', '{}'
         from generate_series(1, 5000) as number`,
    );
    await store.database.query('analyze instep.events');
    const plan = await store.database.query<{ 'QUERY PLAN': string }>(
      `explain select * from instep.team_subscriptions where customer_id = '${customerId}'`,
    );
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('events_of_customer');
    expect(text).not.toContain('Seq Scan on events');
  });
});
