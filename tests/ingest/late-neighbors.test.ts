import { rebuild } from 'instep/src/event-log/rebuild.ts';
import type { ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import { readEventIds } from 'instep/src/postgres/statements/events.ts';
import { tieGroupRangeAt } from 'instep/src/stripe/event-key.ts';
import { makeSnapshot } from 'instep/src/stripe/subscription-snapshot.ts';
import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const SECOND = 1_700_000_000;

test('a late event decides an order that a snapshot without an effect left open', async () => {
  const { teamId, customerId } = await store.addTeam();
  const ingest = openPipeline(store.database);
  const change = (from: string, to: string, createdSeconds = SECOND) =>
    receivedEvent({ customerId, status: to, createdSeconds, previousAttributes: { status: from } });
  await ingest([change('unpaid', 'active')]);
  await ingest([change('active', 'unpaid')]);
  await ingest([await snapshotOf(customerId, 'past_due')]);
  const orders = await store.database.query(
    'select is_order_ambiguous from instep.subscriptions where customer_id = $1',
    [customerId],
  );
  expect(orders).toEqual([{ is_order_ambiguous: false }]);

  await ingest([change('active', 'past_due', SECOND + 1)]);
  expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  const options = { planSelection: 'newest', teamId, isDryRun: true } as const;
  for await (const found of rebuild(store.database, options)) {
    expect.unreachable(JSON.stringify(found));
  }
});

/** A snapshot from the API after the second, as the job for ambiguous orders ingests it. */
async function snapshotOf(customer: string, status: string): Promise<ReceivedEvent> {
  const known = await readEventIds(store.database.query, [tieGroupRangeAt(SECOND, 'sub_1')]);
  const takenAtMs = (SECOND + 10) * 1_000;
  const snapshot = makeSnapshot(
    { id: 'sub_1', customer, status, items: { data: [] } },
    {
      createdSeconds: SECOND,
      seenKeys: new Set(known.map(({ key }) => key)),
      takenAtMs,
      nonce: () => customer,
    },
  );
  if (snapshot === null) throw new RangeError('the snapshot can be read');
  return snapshot;
}
