import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { hasUnknownOrder } from '../support/service/customer-states.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const SECOND = 1_600_000_000;

/** A team with two events of one second without evidence of their order. */
async function ambiguousTeam(answeredSeconds: () => number | null) {
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  const subscriptionId = `sub_${customerId}`;
  const bodyOf = (status: string) =>
    eventBody({ customerId, subscriptionId, status, createdSeconds: SECOND });
  const deliver = (body: string) => ingest([received(body)]);
  await deliver(bodyOf('canceled'));
  await deliver(bodyOf('active'));
  const answer = () => ({
    body: JSON.parse(bodyOf('active')).data.object,
    answeredSeconds: answeredSeconds(),
    tookMs: 0,
  });
  const ask = openAskingJob({
    database: store.database,
    ingest,
    api: { retrieveSubscription: async (id) => (id === subscriptionId ? answer() : null) },
    nonce: randomUUID,
  });
  const isAmbiguous = () => hasUnknownOrder(store.database.query, customerId);
  const statusOf = async () => (await store.planOf(teamId))?.subscriptionStatus;
  const run = async () => {
    await passTime(store.database.query, '1 minute');
    await ask();
  };
  return { run, deliver, bodyOf, isAmbiguous, statusOf };
}

test("ignores a snapshot that is too early by Stripe's clock", async () => {
  let answeredSeconds = SECOND;
  const team = await ambiguousTeam(() => answeredSeconds);
  await team.run();
  expect(await team.isAmbiguous()).toBe(true);
  answeredSeconds = SECOND + 60;
  await team.run();
  expect(await team.isAmbiguous()).toBe(false);
});

test('asks again when an event of the second arrives after the snapshot', async () => {
  const team = await ambiguousTeam(() => SECOND + 60);
  await team.run();
  expect(await team.isAmbiguous()).toBe(false);
  await team.deliver(team.bodyOf('unpaid'));
  expect(await team.statusOf()).toBe('unpaid');
  expect(await team.isAmbiguous()).toBe(true);
  await team.run();
  expect(await team.statusOf()).toBe('active');
  expect(await team.isAmbiguous()).toBe(false);
});

test("uses our own clock with a wide margin when Stripe's response has no date", async () => {
  const team = await ambiguousTeam(() => null);
  await team.run();
  expect(await team.isAmbiguous()).toBe(false);
});
