import { expect, test } from 'vitest';
import type { ApplicationId } from '../../src/core/application-id.ts';
import { rebuild } from '../../src/event-log/rebuild.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

async function rebuilt(teamId: ApplicationId): Promise<unknown[]> {
  const found = [];
  const options = { planSelection: 'newest', teamId, isDryRun: true } as const;
  for await (const difference of rebuild(store.database, options)) found.push(difference);
  return found;
}

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

test('events without a time count in the order of their arrival, alone and in a batch', async () => {
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  const undated = (status: string) => {
    const { created: _, ...event } = JSON.parse(eventBody({ customerId, status }));
    return received(JSON.stringify(event));
  };
  const expectStatus = async (subscriptionStatus: string) => {
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus });
    expect(await rebuilt(teamId)).toEqual([]);
  };
  await ingest([undated('active')]);
  await ingest([undated('canceled')]);
  await expectStatus('canceled');
  // Behind one that is under way, so that they are one batch.
  const batch = ['trialing', 'unpaid', 'active'].map(undated);
  await ingest([receivedEvent({ customerId: 'cus_nobody' }), ...batch]);
  const states = await store.database.query<{ is_order_ambiguous: boolean }>(
    'select is_order_ambiguous from instep.subscriptions where customer_id = $1',
    [customerId],
  );
  expect(states).toEqual([{ is_order_ambiguous: false }]);
});
