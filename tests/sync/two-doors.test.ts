import { describe, expect, test } from 'vitest';
import { useDatabase } from '../support/door-service.ts';
import { openDoor } from '../support/doors.ts';
import { receivedEvent } from '../support/events.ts';
import { postgresServers } from '../support/test-database.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const openTwo = () => [openDoor(store.database), openDoor(store.openAnother())] as const;
  const count = (outcomes: readonly { outcome: string }[], outcome: string) =>
    outcomes.filter((one) => one.outcome === outcome).length;

  test('two hundred copies over two doors are applied once', async () => {
    const doors = openTwo();
    const { teamId, customerId } = await store.addTeam();
    const event = receivedEvent({ customerId });
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) => doors[index % 2 === 0 ? 0 : 1]([event])),
    );
    expect(count(results.flat(), 'applied')).toBe(1);
    expect(count(results.flat(), 'duplicate')).toBe(199);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await store.logOf(customerId)).toEqual([
      { event_id: event.eventId, outcome: 'applied', deliveries: 200 },
    ]);
  });

  test('many customers in opposite orders never end in a deadlock', async () => {
    const doors = openTwo();
    const teams = await Promise.all(Array.from({ length: 40 }, () => store.addTeam()));
    const events = teams.map(({ customerId }) => receivedEvent({ customerId }));
    const results = await Promise.all([doors[0](events), doors[1](events.toReversed())]);
    expect(count(results.flat(), 'applied')).toBe(events.length);
    expect(count(results.flat(), 'duplicate')).toBe(events.length);
  });

  test('neither do customers whom nobody follows', async () => {
    const doors = openTwo();
    const events = Array.from({ length: 200 }, () =>
      receivedEvent({ customerId: store.newCustomer() }),
    );
    await Promise.all([doors[0](events), doors[1](events.toReversed())]);
    const rows = await store.database.query(
      `select deliveries, count(*) from instep.events where outcome = 'parked' group by deliveries`,
    );
    expect(rows).toEqual([{ deliveries: 2, count: 200 }]);
  });

  test('different events of one customer over two doors end with the newest', async () => {
    const doors = openTwo();
    const { teamId, customerId } = await store.addTeam();
    const events = Array.from({ length: 60 }, (_, index) =>
      receivedEvent({
        customerId,
        createdSeconds: 1_000 + index,
        subscriptionId: `sub_${index}`,
        status: index % 3 === 0 ? 'canceled' : 'active',
      }),
    );
    await Promise.all(
      events.map((event, index) => doors[index % 2 === 0 ? 0 : 1]([event])).reverse(),
    );
    expect(await store.planOf(teamId)).toMatchObject({ providerSubscriptionId: 'sub_59' });
  });
});
