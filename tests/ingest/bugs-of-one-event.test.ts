import { describe, expect, test } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const BUG = new TypeError('a bug');

/** An event that hits a bug when it is decided: whatever reads its time throws. */
function eventWithBug(customerId: string): LogEvent {
  const event = receivedEvent({ customerId });
  if (event.kind === 'unreadable') return event;
  const subscription = {
    ...event.subscription,
    get createdSeconds(): number {
      throw BUG;
    },
  };
  return { ...event, subscription };
}

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  test('an event that hits a bug fails alone, with the error of the bug, and leaves nothing behind', async () => {
    const ingest = openPipeline(store.database);
    const [before, bad, after] = [
      await store.addTeam(),
      await store.addTeam(),
      await store.addTeam(),
    ];
    const backends = `select array_agg(pid order by pid) as pids from pg_stat_activity where datname = current_database()`;
    const connected = await store.database.query<{ pids: number[] }>(backends);
    // The first one arrives alone, so the others form one batch.
    const settled = await Promise.allSettled(
      [
        receivedEvent({ customerId: store.newCustomer() }),
        receivedEvent({ customerId: before.customerId }),
        eventWithBug(bad.customerId),
        receivedEvent({ customerId: after.customerId }),
      ].map((event) => ingest([event])),
    );
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(settled[2]).toMatchObject({ reason: BUG });
    for (const { teamId } of [before, after]) {
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    }
    expect(await store.planOf(bad.teamId)).toEqual(NO_PLAN);
    expect(await store.logOf(bad.customerId)).toEqual([]);
    // The connection stays.
    const [{ pids } = { pids: [] }] = connected;
    expect(await store.database.query(backends)).toEqual([{ pids: expect.arrayContaining(pids) }]);
  });
});
