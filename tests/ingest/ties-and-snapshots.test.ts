import type { ApplicationId } from 'instep';
import { makeSnapshot } from 'instep-engine/src/stripe/subscription-snapshot.ts';
import { expect, test } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { hasUnknownOrder } from '../support/service/customer-states.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { findDifferences } from '../support/service/rebuilding.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const SECOND = 1_700_000_000;

/** A team with two events of one second of which nothing shows which came last, and its snapshots. */
async function ambiguousTeam() {
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  const events = ['trialing', 'active'].map((status) =>
    receivedEvent({ customerId, status, createdSeconds: SECOND }),
  );
  for (const one of events) await ingest([one]);
  expect(await hasUnknownOrder(store.database.query, customerId)).toBe(true);
  const status = async () => (await store.planOf(teamId))?.subscriptionStatus;
  return { ingest, teamId, customerId, events, status };
}

/** A snapshot from the API after the second, as the job for ambiguous orders ingests it. */
function snapshotOf(customer: string, status: string, seen: readonly LogEvent[]): LogEvent {
  const snapshot = makeSnapshot(
    { id: 'sub_1', customer, status, items: { data: [] } },
    {
      createdSeconds: SECOND,
      seenKeys: new Set(seen.map(({ key }) => key)),
      takenAtMs: (SECOND + 10) * 1_000,
      nonce: () => customer,
    },
  );
  if (snapshot === null) throw new RangeError('the snapshot can be read');
  return snapshot;
}

test('a snapshot decides an ambiguous order when no other event of its second has arrived', async () => {
  const { ingest, teamId, customerId, events, status } = await ambiguousTeam();
  const [result] = await ingest([snapshotOf(customerId, 'canceled', events)]);
  expect(result).toMatchObject({ outcome: 'applied', teamIds: [teamId] });
  expect(await status()).toBe('canceled');
  expect(await hasUnknownOrder(store.database.query, customerId)).toBe(false);
  expect(await findDifferences(store.database, teamId)).toEqual([]);
});

test('a snapshot is outdated by an event of its second that it has not seen, and leaves no trace', async () => {
  const { ingest, teamId, customerId, events, status } = await ambiguousTeam();
  const [result] = await ingest([snapshotOf(customerId, 'canceled', events.slice(0, 1))]);
  expect(result).toMatchObject({ outcome: 'stale', teamIds: [teamId] });
  expect(await status()).toBe('active');
  expect(await hasUnknownOrder(store.database.query, customerId)).toBe(true);
  expect(await store.logOf(customerId)).toHaveLength(2);
});

test('a snapshot decides nothing once the order is known', async () => {
  const { ingest, customerId, events, status } = await ambiguousTeam();
  await ingest([snapshotOf(customerId, 'canceled', events)]);
  const [later] = await ingest([snapshotOf(customerId, 'active', events)]);
  expect(later).toMatchObject({ outcome: 'stale' });
  expect(await status()).toBe('canceled');
});

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
