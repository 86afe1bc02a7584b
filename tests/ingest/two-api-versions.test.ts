import { rebuild } from 'instep/src/event-log/rebuild.ts';
import { processBatch } from 'instep/src/ingest/process-batch.ts';
import type { ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import { createParkedEventsJob } from 'instep/src/maintenance/parked-events.ts';
import { writeProductName } from 'instep/src/postgres/statements/products.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const logger = createLogger('silent');
const { signal } = new AbortController();
const OPTIONS = { planSelection: 'newest', namesWritten: 'everywhere' } as const;
const CREATED_SECONDS = 1_700_000_000;

/** An event as two endpoints with different API versions deliver it: with different members. */
function renderings(body: string): [ReceivedEvent, ReceivedEvent] {
  const { data, ...event } = JSON.parse(body);
  const object = { ...data.object, of_another_version: true };
  const other = { ...event, api_version: '2020-08-27', data: { ...data, object } };
  return [received(body), received(JSON.stringify(other))];
}

/** Parks two events in two transactions, neither of which sees the other's rows. */
async function parkAtOnce([one, other]: readonly [ReceivedEvent, ReceivedEvent]): Promise<void> {
  const park = (event: ReceivedEvent, then: () => Promise<unknown>) =>
    store.openAnother().transaction(async (query, atCommit) => {
      const named = { ...event, productName: null };
      const { results } = await processBatch({ query, atCommit }, [named], OPTIONS);
      expect(results).toMatchObject([{ outcome: 'parked' }]);
      await then();
    });
  await park(one, () => park(other, async () => undefined));
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
    await createParkedEventsJob({ query: store.database.query, ingest, logger })(signal);

    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: expected });
    const log = await store.logOf(customerId);
    expect(log.filter(({ outcome }) => outcome === 'parked')).toEqual([]);
    expect(log.map(({ deliveries }) => deliveries)).toEqual(
      decider === 'a delivery' ? [3, 2] : [2, 2],
    );
    const orders = await store.database.query(
      'select is_order_ambiguous from instep.subscriptions where customer_id = $1',
      [customerId],
    );
    expect(orders).toEqual([{ is_order_ambiguous: false }]);
    for await (const found of rebuild(store.database, { ...OPTIONS, teamId, isDryRun: true })) {
      expect.unreachable(JSON.stringify(found));
    }
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
  const batch = [JSON.stringify(old), ended].map((one) => ({
    ...received(one),
    productName: null,
  }));
  await store.database.transaction((query, atCommit) =>
    processBatch({ query, atCommit }, batch, OPTIONS),
  );

  const plan = { providerProductId: productId, planName: 'Pro' };
  expect(await store.planOf(teamId)).toMatchObject(plan);
});
