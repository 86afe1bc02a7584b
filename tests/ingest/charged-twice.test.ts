import fc from 'fast-check';
import { chargedSubscriptions, foldAll, type SubscriptionEvent } from 'instep-engine/rule';
import { findIssues } from 'instep-operate';
import { expect, test } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { rebuildTeams } from '../support/service/rebuilding.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const store = useDatabase(embeddedServer);
const STATUSES = ['active', 'trialing', 'past_due', 'canceled', 'unpaid', 'paused', 'incomplete'];

async function readCustomers(): Promise<string[]> {
  const context = store;
  const { rows: issues } = await findIssues(context, { code: 'charged-twice' }).page();
  return issues.flatMap(({ customerId }) => customerId ?? []);
}

/** The customers whose events, folded from the beginning, end with several charged subscriptions. */
function expectedCustomers(events: readonly LogEvent[]): string[] {
  const customers = new Map<string, SubscriptionEvent[]>();
  for (const event of events) {
    if (event.kind === 'unreadable') continue;
    const { customerId } = event.subscription;
    customers.set(customerId, [...(customers.get(customerId) ?? []), event]);
  }
  const charged = [...customers].filter(([, own]) => chargedSubscriptions(foldAll(own)).length > 1);
  return charged.map(([customerId]) => customerId).sort();
}

const event = fc.record({
  customer: fc.integer({ min: 0, max: 1 }),
  subscriptionId: fc.constantFrom('sub_1', 'sub_2', 'sub_3'),
  status: fc.constantFrom(...STATUSES),
  createdSeconds: fc.integer({ min: 1_000, max: 1_010 }),
});

test('the customers that Stripe charges twice are those whose events say so, also after a rebuild', async () => {
  const { query } = store.database;
  const ingest = openPipeline(store.database);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
      async (batches) => {
        await query('truncate instep.customers, instep.events; delete from teams');
        const teams = [await store.addTeam(), await store.addTeam()];
        const all: LogEvent[] = [];
        for (const batch of batches) {
          const events = batch.map(({ customer, ...fields }) =>
            receivedEvent({ ...fields, customerId: teams[customer]?.customerId ?? '' }),
          );
          await ingest(events);
          all.push(...events);
          expect(await readCustomers()).toEqual(expectedCustomers(all));
        }
        await query('truncate instep.customers');
        await rebuildTeams(store.database);
        expect(await readCustomers()).toEqual(expectedCustomers(all));
      },
    ),
    { numRuns: repetitions(25, 150) },
  );
});
