import fc from 'fast-check';
import { rebuild } from 'instep/src/event-log/rebuild.ts';
import { expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const store = useDatabase(embeddedServer);
const STATUSES = ['active', 'trialing', 'past_due', 'canceled', 'unpaid', 'paused', 'incomplete'];

const noted = () =>
  store.database.query('select customer_id from instep.double_billed order by customer_id');

/** What the latest states of all customers say. */
const counted = () =>
  store.database.query(`
    select customer_id
      from instep.subscriptions
     where latest_status in ('active', 'trialing', 'past_due')
     group by customer_id
    having count(*) > 1
     order by customer_id`);

const event = fc.record({
  customer: fc.integer({ min: 0, max: 1 }),
  subscriptionId: fc.constantFrom('sub_1', 'sub_2', 'sub_3'),
  status: fc.constantFrom(...STATUSES),
  createdSeconds: fc.integer({ min: 1_000, max: 1_010 }),
});

test('the customers that Stripe charges twice are those that the latest states say', async () => {
  const { query } = store.database;
  const ingest = openPipeline(store.database);
  const options = { planSelection: 'newest', isDryRun: false } as const;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
      async (batches) => {
        await query(
          'delete from instep.subscriptions; delete from instep.double_billed; delete from teams',
        );
        const teams = [await store.addTeam(), await store.addTeam()];
        for (const batch of batches) {
          const events = batch.map(({ customer, ...fields }) =>
            receivedEvent({ ...fields, customerId: teams[customer]?.customerId ?? '' }),
          );
          await ingest(events);
          expect(await noted()).toEqual(await counted());
        }
        const all = await noted();
        await query('delete from instep.subscriptions; delete from instep.double_billed');
        await collect(rebuild(store.database, options));
        expect(await noted()).toEqual(all);
      },
    ),
    { numRuns: repetitions(25, 300) },
  );
});
