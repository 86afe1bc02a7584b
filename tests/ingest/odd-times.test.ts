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

  test.each([
    ['active', 'trialing'],
    ['trialing', 'active'],
  ])('the later arrival of %s and %s wins', async (first, second) => {
    const ingest = openPipeline(store.database);
    const orders = [
      (customerId: string) => [dated(customerId, first), undated(customerId, second, SECOND)],
      (customerId: string) => [undated(customerId, first, SECOND), dated(customerId, second)],
    ];
    for (const order of orders) {
      const { teamId, customerId } = await store.addTeam();
      for (const event of order(customerId)) await ingest([event]);
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: second });
      expect(await rebuilt(teamId)).toEqual([]);
    }
  });

  test.each([
    ['a late older event', dated],
    ['an event without an effect', undated],
  ] as const)('%s changes nothing, and rebuild agrees', async (_, event) => {
    const ingest = openPipeline(store.database);
    const { teamId, customerId } = await store.addTeam();
    await ingest([dated(customerId, 'canceled')]);
    await ingest([undated(customerId, 'active', SECOND)]);
    await ingest([event(customerId, 'trialing', SECOND - 1)]);
    await ingest([dated(customerId, 'past_due')]);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await rebuilt(teamId)).toEqual([]);
  });

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
