import type { ApplicationId } from 'instep';
import { describe, expect, test } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { addTeam } from '../support/internals/rows.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { findDifferences } from '../support/service/rebuilding.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const SECOND = 1_700_000_000;

const rebuilt = (teamId: ApplicationId) => findDifferences(store.database, teamId);

test.each([0, 1, 2 ** 32, 2 ** 32 + 7, 253_402_300_799])(
  'the events of second %d are put in order',
  async (createdSeconds) => {
    const ingest = openPipeline(store.database);
    const { teamId, customerId } = await store.addTeam();
    const event = { customerId, createdSeconds };
    const previous = (status: string) => ({ previousAttributes: { status } });
    await ingest([receivedEvent({ ...event, status: 'canceled', ...previous('active') })]);
    await ingest([receivedEvent({ ...event, status: 'active', ...previous('trialing') })]);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
    expect(await rebuilt(teamId)).toEqual([]);
  },
);

/** An event without `created`, received in this second. */
function undated(customerId: string, status: string, receivedSeconds: number): LogEvent {
  const { created: _, ...event } = JSON.parse(eventBody({ customerId, status }));
  return received(JSON.stringify(event), receivedSeconds * 1_000);
}

describe('events with and without a time in one second', () => {
  const dated = (customerId: string, status: string, createdSeconds = SECOND) =>
    receivedEvent({ customerId, status, createdSeconds });

  test('a parked event keeps its place in the order of arrival', async () => {
    const ingest = openPipeline(store.database);
    for (const parked of [dated, undated]) {
      const customerId = store.newCustomer();
      await ingest([parked(customerId, 'canceled', SECOND)]);
      const teamId = await addTeam(store.database.query, { name: 'Late', customerId });
      await ingest([undated(customerId, 'active', SECOND)]);
      await openSettleJobs(store.database).parkedEvents(new AbortController().signal);
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
      expect(await rebuilt(teamId)).toEqual([]);
    }
  });

  test('a parked event counts as of its first arrival when Stripe sends it again', async () => {
    const ingest = openPipeline(store.database);
    const customerId = store.newCustomer();
    const event = undated(customerId, 'canceled', SECOND);
    await ingest([event]);
    const teamId = await addTeam(store.database.query, { name: 'Late', customerId });
    await ingest([dated(customerId, 'active', SECOND + 50)]);
    await ingest([received(event.body.toString(), (SECOND + 100) * 1_000)]);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await rebuilt(teamId)).toEqual([]);
  });
});
