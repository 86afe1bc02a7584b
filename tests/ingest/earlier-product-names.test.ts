import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const SECOND = 1_700_000_000;

test("a team that returns to an earlier event of a cycle gets the name of that event's product", async () => {
  const { teamId, customerId } = await store.addTeam();
  const ingest = openPipeline(store.database, async (productId) => `The plan of ${productId}`);
  const deliver = (fields: Parameters<typeof receivedEvent>[0]) =>
    ingest([receivedEvent({ customerId, subscriptionId: 'sub_1', ...fields })]);
  await deliver({
    createdSeconds: SECOND,
    status: 'active',
    productId: 'prod_1',
    previousAttributes: { status: 'trialing' },
  });
  await deliver({
    createdSeconds: SECOND,
    status: 'trialing',
    productId: 'prod_2',
    previousAttributes: { status: 'active' },
  });
  expect(await store.planOf(teamId)).toMatchObject({ planName: 'The plan of prod_2' });
  // Now the second begins with active, so it ends with active.
  await deliver({
    createdSeconds: SECOND,
    status: 'active',
    productId: 'prod_2',
    previousAttributes: { status: 'incomplete' },
  });
  expect(await store.planOf(teamId)).toMatchObject({
    subscriptionStatus: 'active',
    providerProductId: 'prod_1',
    planName: 'The plan of prod_1',
  });
});
