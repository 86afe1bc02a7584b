import { expect, test } from 'vitest';
import type { ReceivedEvent } from '../support/internals/ingest.ts';
import { addTeam, writeProductName } from '../support/internals/rows.ts';
import { withMeanwhile } from '../support/postgres/observed-database.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { hasUnknownOrder } from '../support/service/customer-states.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { findDifferences } from '../support/service/rebuilding.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const { signal } = new AbortController();
const CREATED_SECONDS = 1_700_000_000;

/** An event as two endpoints with different API versions deliver it: with different members. */
function renderings(body: string): [ReceivedEvent, ReceivedEvent] {
  const { data, ...event } = JSON.parse(body);
  const object = { ...data.object, of_another_version: true };
  const other = { ...event, api_version: '2020-08-27', data: { ...data, object } };
  return [received(body), received(JSON.stringify(other))];
}

/** Parks an event at two instances, each of which has read the customer before the other has stored the event. */
async function parkAtOnce([one, other]: readonly [ReceivedEvent, ReceivedEvent]): Promise<void> {
  const second = openPipeline(store.openAnother());
  const first = openPipeline(withMeanwhile(store.openAnother(), () => second([other])));
  expect(await first([one])).toMatchObject([{ outcome: 'parked' }]);
}

test.each([
  ['maintenance', ['active', 'unpaid'], 'unpaid'],
  ['maintenance', ['unpaid', 'active'], 'active'],
  ['a delivery', ['active', 'unpaid'], 'unpaid'],
  ['a delivery', ['unpaid', 'active'], 'active'],
] as const)(
  'one event that two instances have parked in two API versions is decided once, by %s: %s',
  async (decider, [before, after], expected) => {
    const customerId = store.newCustomer();
    const ingest = openPipeline(store.database);
    const body = (status: string, previous: string) =>
      eventBody({
        customerId,
        createdSeconds: CREATED_SECONDS,
        status,
        previousAttributes: { status: previous },
      });
    const last = renderings(body(after, before));
    await parkAtOnce(last);
    await parkAtOnce(renderings(body(before, 'trialing')));
    const teamId = await addTeam(store.database.query, { name: 'Late', customerId });
    if (decider === 'a delivery') await ingest([last[1]]);
    await openSettleJobs(store.database).parkedEvents(signal);

    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: expected });
    const log = await store.logOf(customerId);
    expect(log.filter(({ outcome }) => outcome === 'parked')).toEqual([]);
    expect(log.map(({ deliveries }) => deliveries)).toEqual(
      decider === 'a delivery' ? [3, 2] : [2, 2],
    );
    expect(await hasUnknownOrder(store.database.query, customerId)).toBe(false);
    expect(await findDifferences(store.database, teamId)).toEqual([]);
  },
);

test('a stored product name is written, whichever events are in the same batch', async () => {
  const [customerId, other] = [store.newCustomer(), store.newCustomer()];
  const productId = `prod_of_${customerId}`;
  const ingest = openPipeline(store.database);
  const { query } = store.database;
  await writeProductName(query, productId, 'Pro');
  await query('update instep.products set is_applied = true where product_id = $1', [productId]);
  const body = eventBody({ customerId, productId, createdSeconds: CREATED_SECONDS });
  await ingest([received(body)]);
  const teamId = await addTeam(query, { name: 'Late', customerId });

  // In the oldest API version, the event has no product. Its first form, which was parked, has one.
  const { data, ...event } = JSON.parse(body);
  const object = { ...data.object, items: undefined, plan: { name: 'Other' } };
  const old = { ...event, api_version: '2012-01-01', data: { ...data, object } };
  // The name of this event's product is not needed, so it is not looked up.
  const ended = eventBody({ customerId: other, productId, status: 'canceled' });
  // They arrive during another batch, so they form one batch.
  const first = received(eventBody({ customerId: store.newCustomer() }));
  await ingest([first, received(JSON.stringify(old)), received(ended)]);

  const plan = { providerProductId: productId, planName: 'Pro' };
  expect(await store.planOf(teamId)).toMatchObject(plan);
});
