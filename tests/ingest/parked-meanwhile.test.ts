import type { ApplicationId } from 'instep/src/core/application.ts';
import { rebuild } from 'instep/src/event-log/rebuild.ts';
import { processBatch } from 'instep/src/ingest/process-batch.ts';
import type { ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const OPTIONS = { planSelection: 'newest', namesWritten: 'everywhere' } as const;
const RECEIVED_MS = 1_700_000_000_000;

/** Applies an event in a transaction that stays open until its second function is called. */
async function applyInOpenTransaction(event: ReceivedEvent): Promise<() => Promise<void>> {
  let commit: () => void = () => undefined;
  const mayCommit = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let isApplied: () => void = () => undefined;
  const applied = new Promise<void>((resolve) => {
    isApplied = resolve;
  });
  const committed = store.openAnother().transaction(async (query, atCommit) => {
    await processBatch({ query, atCommit }, [{ ...event, productName: null }], OPTIONS);
    isApplied();
    await mayCommit;
  });
  await applied;
  return async () => {
    commit();
    await committed;
  };
}

async function expectRebuildChangesNothing(teamId: ApplicationId): Promise<void> {
  for await (const found of rebuild(store.database, { ...OPTIONS, teamId, isDryRun: true })) {
    expect.unreachable(JSON.stringify(found));
  }
}

function undatedBody(customerId: string, status: string): string {
  return JSON.stringify({ ...JSON.parse(eventBody({ customerId, status })), created: null });
}

test('an event without a time that is parked while it is decided gets the time of the decision', async () => {
  const customerId = store.newCustomer();
  const body = undatedBody(customerId, 'active');
  const park = await applyInOpenTransaction(received(body, RECEIVED_MS + 60_000));
  const teamId = await addTeam(store.database.query, { name: 'Linked', customerId });
  const decide = await applyInOpenTransaction(received(body, RECEIVED_MS));
  await park();
  await decide();
  expect(await store.logOf(customerId)).toMatchObject([{ outcome: 'applied', deliveries: 2 }]);
  await expectRebuildChangesNothing(teamId);
});

test('an event that is parked while it is decided gets the position of the decision', async () => {
  const customerId = store.newCustomer();
  const createdSeconds = RECEIVED_MS / 1_000;
  const canceled = received(eventBody({ customerId, status: 'canceled', createdSeconds }));
  const park = await applyInOpenTransaction(canceled);
  const teamId = await addTeam(store.database.query, { name: 'Linked', customerId });
  const active = received(undatedBody(customerId, 'active'), RECEIVED_MS);
  await (await applyInOpenTransaction(active))();
  const decide = await applyInOpenTransaction(canceled);
  await park();
  await decide();
  expect(await store.logOf(customerId)).toMatchObject([
    { outcome: 'applied' },
    { outcome: 'applied' },
  ]);
  await expectRebuildChangesNothing(teamId);
});
