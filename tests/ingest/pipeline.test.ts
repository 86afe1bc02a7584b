import { describe, expect, test } from 'vitest';
import type { ReceivedEvent } from '../support/internals/ingest.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const UNKNOWN_SHAPE = JSON.stringify({
  id: 'evt_unreadable',
  type: 'customer.subscription.updated',
  data: null,
});

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  test('returns a result and logs a row for every event of a batch', async () => {
    const ingest = openPipeline(store.database);
    const team = await store.addTeam();
    const other = await store.addTeam();
    const unlinked = store.newCustomer();
    const of = (eventId: string, created: number, status: string, { customerId } = team) =>
      receivedEvent({ eventId, customerId, createdSeconds: created, status });

    const first = of('evt_first', 100, 'active');
    const second = of('evt_second', 200, 'trialing');
    const unreadable = received(UNKNOWN_SHAPE);
    const parked = of('evt_parked', 100, 'active', { teamId: 0, customerId: unlinked });
    const results = await ingest([
      first,
      second,
      of('evt_older', 150, 'canceled'),
      of('evt_no_effect', 300, 'past_due'),
      parked,
      unreadable,
      of('evt_other', 50, 'unpaid', other),
      first,
      second,
      unreadable,
      parked,
    ]);

    const [mine, others, none] = [[team.teamId], [other.teamId], []];
    expect(results).toMatchObject([
      { outcome: 'applied', teamIds: mine },
      { outcome: 'applied', teamIds: mine },
      { outcome: 'stale', teamIds: mine },
      { outcome: 'unchanged', teamIds: mine },
      { outcome: 'parked', teamIds: none },
      { outcome: 'unreadable', teamIds: none },
      { outcome: 'applied', teamIds: others },
      { outcome: 'duplicate', teamIds: mine },
      { outcome: 'duplicate', teamIds: mine },
      { outcome: 'duplicate', teamIds: none },
      { outcome: 'parked', teamIds: none },
    ]);
    expect(await store.planOf(team.teamId)).toMatchObject({ subscriptionStatus: 'trialing' });
    expect(await store.planOf(other.teamId)).toMatchObject({ subscriptionStatus: 'unpaid' });

    const rows = await store.database.query<{ event_id: string; transaction: string }>(
      `select event_id, outcome, deliveries, customer_id, subscription_id, type,
              extract(epoch from created_at)::int as created,
              extract(epoch from received_at)::int as received,
              xmin::text as transaction
         from instep.events`,
    );
    const row = (
      event_id: string,
      outcome: string,
      deliveries: number,
      created: number | null,
    ) => ({
      event_id,
      outcome,
      deliveries,
      customer_id: team.customerId,
      subscription_id: 'sub_1',
      type: 'customer.subscription.updated',
      created,
      received: 1_700_000_000,
      transaction: expect.any(String),
    });
    expect(new Set(rows)).toEqual(
      new Set([
        row('evt_first', 'applied', 2, 100),
        row('evt_second', 'applied', 2, 200),
        row('evt_older', 'stale', 1, 150),
        row('evt_no_effect', 'unchanged', 1, 300),
        { ...row('evt_parked', 'parked', 2, 100), customer_id: unlinked },
        {
          ...row('evt_unreadable', 'unreadable', 2, null),
          customer_id: null,
          subscription_id: null,
        },
        { ...row('evt_other', 'applied', 1, 50), customer_id: other.customerId },
      ]),
    );
    // The first event started its own transaction; all others shared the next one.
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBe(1);
  });

  test('applies a parked event that arrives again once a team is linked to its customer', async () => {
    const ingest = openPipeline(store.database);
    const { teamId, customerId } = await store.addTeam();
    const link = (to: string | null) =>
      store.database.query(`update teams set provider_customer_id = $1 where id = ${teamId}`, [to]);
    await link(null);
    const [older, newer] = ['trialing', 'active'].map((status) =>
      receivedEvent({ customerId, status }),
    ) as [ReceivedEvent, ReceivedEvent];
    const none: number[] = [];
    expect(await ingest([older, newer])).toMatchObject([
      { outcome: 'parked', teamIds: none },
      { outcome: 'parked', teamIds: none },
    ]);
    await link(customerId);
    const teamIds = [teamId];
    expect(await ingest([newer])).toMatchObject([{ outcome: 'applied', teamIds }]);
    // Both events that waited have their outcome now.
    expect(await ingest([older])).toMatchObject([{ outcome: 'duplicate', teamIds }]);
    expect(await ingest([newer])).toMatchObject([{ outcome: 'duplicate', teamIds }]);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await store.logOf(customerId)).toEqual([
      { event_id: older.eventId, outcome: 'applied', deliveries: 2 },
      { event_id: newer.eventId, outcome: 'applied', deliveries: 3 },
    ]);
  });

  test('logs events in the order of arrival, whatever their keys', async () => {
    const ingest = openPipeline(store.database);
    const { customerId } = await store.addTeam();
    const eventIds = Array.from({ length: 20 }, (_, index) => `evt_arrival_${index}`);
    await ingest(
      eventIds.map((eventId, index) =>
        receivedEvent({ eventId, customerId, createdSeconds: 1_000 - index }),
      ),
    );
    const log = await store.logOf(customerId);
    expect(log.map((row) => row.event_id)).toEqual(eventIds);
  });

  test.each([
    ['NUL and half surrogate pairs', { metadata: { nul: '\0', half: '\ud800', other: '\udc00x' } }],
    ['characters of all UTF-8 lengths', { metadata: { text: 'ü€𝄞\u2028\u0085\u001b' } }],
    ['a customer that cannot be stored', { customer: 'cus_\0' }],
    ['numbers beyond the range of JavaScript', { big: 'NUMBER' }],
  ])('the body is stored byte for byte: %s', async (_, members) => {
    const ingest = openPipeline(store.database);
    const event = JSON.parse(eventBody({ eventId: 'evt_bytes', customerId: store.newCustomer() }));
    Object.assign(event.data.object, members);
    const text = JSON.stringify(event, null, 1).replace('"NUMBER"', '1e999, "dup": 1, "dup": 2');
    const body = `\n ${text.replaceAll('\n', '\r\n')}\t`;
    await ingest([received(body)]);
    const rows = await store.database.query<{ body: Buffer }>(
      `delete from instep.events where event_id = 'evt_bytes' returning body`,
    );
    expect(rows.map((row) => row.body.toString('hex'))).toEqual([
      Buffer.from(body).toString('hex'),
    ]);
  });
});
