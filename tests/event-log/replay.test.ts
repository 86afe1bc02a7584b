import { countIssues } from 'instep/operate';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { replayEvents, searchLog } from '../support/internals/repair.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  const unreadableEvents = async () => {
    const events = searchLog(store.database.query, { outcome: 'unreadable' }, 'oldest first');
    return await collect(events);
  };

  /** Stores the event as a version that could not read it, then replays it as one that can. */
  async function replayUnreadable(body: string, between = async () => {}) {
    const { query } = store.database;
    const ingest = openPipeline(store.database);
    await ingest([received(JSON.stringify({ ...JSON.parse(body), data: 'odd' }), Date.now())]);
    // Without a time and a subscription, both versions identify it by its content alone.
    const key = JSON.parse(body).created === null ? received(body).key : null;
    await query(
      `update instep.events
          set body = $1,
              key  = coalesce($2, key)
        where outcome = 'unreadable'`,
      [Buffer.from(body), key],
    );
    await between();
    const events = await unreadableEvents();
    const outcomes = [];
    for await (const { outcome } of replayEvents(events, { ingest, query })) outcomes.push(outcome);
    expect(await unreadableEvents()).toEqual([]);
    expect((await countIssues(store))['unreadable-event'].count).toBe(0);
    return { outcomes };
  }

  test.each([
    ['with a time', {}],
    ['whose key stays the same', { created: null }],
  ])(
    'an unreadable event %s is decided like one that arrives now, and is no issue any more',
    async (_, change) => {
      const { teamId, customerId } = await store.addTeam();
      const event = JSON.parse(eventBody({ customerId }));
      Object.assign(event, change);
      if ('created' in change) delete event.data.object.id;
      const { outcomes } = await replayUnreadable(JSON.stringify(event));
      expect(outcomes).toEqual(['applied']);
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
      const log = searchLog(store.database.query, { customerId }, 'oldest first');
      expect(await collect(log)).toMatchObject([{ outcome: 'applied', deliveries: 1 }]);
    },
  );

  test('an unreadable event of a customer without a team waits for one', async () => {
    const customerId = store.newCustomer();
    expect((await replayUnreadable(eventBody({ customerId }))).outcomes).toEqual(['parked']);
    expect(await store.logOf(customerId)).toMatchObject([{ outcome: 'parked', deliveries: 1 }]);
  });

  test('an unreadable event that has arrived again, readable, leaves one row', async () => {
    const { customerId } = await store.addTeam();
    const body = eventBody({ customerId });
    const arriveAgain = async () => {
      await openPipeline(store.database)([received(body, Date.now())]);
    };
    expect((await replayUnreadable(body, arriveAgain)).outcomes).toEqual(['duplicate']);
    expect(await store.logOf(customerId)).toMatchObject([{ outcome: 'applied' }]);
  });
});
