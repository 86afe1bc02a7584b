import { processBatch } from 'instep/src/ingest/process-batch.ts';
import type { IngestResult, ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import { readTeam } from 'instep/src/postgres/statements/teams.ts';
import { describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const OPTIONS = { planSelection: 'newest', namesWritten: 'everywhere' } as const;

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const openTwo = () => [openPipeline(store.database), openPipeline(store.openAnother())] as const;
  const count = (results: readonly (IngestResult | 'locked')[], outcome: string) =>
    results.filter((one) => typeof one === 'object' && one.outcome === outcome).length;

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
      const pools = [store.database, store.openAnother()];
      // Looks up the application's tables, which would repeat the first transaction of a pool.
      await Promise.all(pools.map(({ query }) => readTeam(query, 1)));
      for (let round = 0; round < 3; round += 1) {
        const customers = await Promise.all(
          Array.from({ length: 60 }, async () =>
            followed === 'that teams follow' ? await store.addTeam() : null,
          ),
        );
        const events = customers.map((team): ReceivedEvent => {
          const customerId = team?.customerId ?? store.newCustomer();
          return { ...receivedEvent({ customerId }), productName: null };
        });
        let attempts = 0;
        const results = await Promise.all(
          [events, events.toReversed()].map((batch, index) =>
            pools[index]?.transaction((query, atCommit) => {
              attempts += 1;
              return processBatch({ query, atCommit }, batch, OPTIONS);
            }),
          ),
        );
        // After a deadlock, one of them would be repeated.
        expect(attempts).toBe(2);
        const outcomes = results.flatMap((batch) => batch?.results ?? []);
        const isFollowed = followed === 'that teams follow';
        expect(count(outcomes, 'applied')).toBe(isFollowed ? events.length : 0);
        expect(count(outcomes, 'parked')).toBe(isFollowed ? 0 : events.length * 2);
      }
      const deliveries = 'select distinct deliveries from instep.events where outcome = any ($1)';
      const rows = await store.database.query(deliveries, [['parked']]);
      expect(rows).toEqual(followed === 'that teams follow' ? [] : [{ deliveries: 2 }]);
    },
  );

  test('two instances with the same customers in opposite orders apply each event once', async () => {
    const pipelines = openTwo();
    const teams = await Promise.all(Array.from({ length: 40 }, () => store.addTeam()));
    const events = teams.map(({ customerId }) => receivedEvent({ customerId }));
    const results = await Promise.all([pipelines[0](events), pipelines[1](events.toReversed())]);
    expect(count(results.flat(), 'applied')).toBe(events.length);
    expect(count(results.flat(), 'duplicate')).toBe(events.length);
  });
});
