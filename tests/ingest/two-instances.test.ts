import { describe, expect, test } from 'vitest';
import type { IngestResult } from '../support/internals/ingest.ts';
import { readTeamsOf } from '../support/internals/rows.ts';
import { counting } from '../support/postgres/observed-database.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const openTwo = () => [openPipeline(store.database), openPipeline(store.openAnother())] as const;
  const count = (results: readonly IngestResult[], outcome: string) =>
    results.filter((one) => one.outcome === outcome).length;

  test('applies 200 copies at two instances once', async () => {
    const pipelines = openTwo();
    const { teamId, customerId } = await store.addTeam();
    const event = receivedEvent({ customerId });
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) => pipelines[index % 2 === 0 ? 0 : 1]([event])),
    );
    expect(count(results.flat(), 'applied')).toBe(1);
    expect(count(results.flat(), 'duplicate')).toBe(199);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await store.logOf(customerId)).toEqual([
      { event_id: event.eventId, outcome: 'applied', deliveries: 200 },
    ]);
  });

  test.each(['that teams follow', 'that no team follows'])(
    'batches of many customers %s in opposite orders never deadlock',
    async (followed) => {
      const instances = [store.database, store.openAnother()].map(counting);
      // Looks up the application's tables, which repeats the first statement of a pool.
      await Promise.all(instances.map(({ database }) => readTeamsOf(database.query, [])));
      const isFollowed = followed === 'that teams follow';
      for (let round = 0; round < 3; round += 1) {
        const events = [];
        for (let count = 0; count < 60; count += 1) {
          const { customerId } = isFollowed
            ? await store.addTeam()
            : { customerId: store.newCustomer() };
          events.push(receivedEvent({ customerId }));
        }
        const results = await Promise.all(
          [events, events.toReversed()].map((batch, index) => {
            const { database = store.database } = instances[index] ?? {};
            return openPipeline(database)(batch);
          }),
        );
        expect(instances.map(({ counts }) => counts.conflicts)).toEqual([0, 0]);
        const outcomes = results.flat();
        // An event that arrives again while it waits for a team is answered like the first time.
        expect(count(outcomes, 'applied')).toBe(isFollowed ? events.length : 0);
        expect(count(outcomes, 'duplicate')).toBe(isFollowed ? events.length : 0);
        expect(count(outcomes, 'parked')).toBe(isFollowed ? 0 : events.length * 2);
      }
      const deliveries = 'select distinct deliveries from instep.events where outcome = $1';
      const rows = await store.database.query(deliveries, ['parked']);
      expect(rows).toEqual(isFollowed ? [] : [{ deliveries: 2 }]);
    },
  );
});
