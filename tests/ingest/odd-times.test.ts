import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { findDifferences } from '../support/service/rebuilding.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
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
