import { DatabaseBusy } from 'instep-engine/postgres';
import type { JsonObject } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import type { Ingest } from '../support/internals/ingest.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

/** A team whose subscription has two events of one second, whose order is ambiguous. */
async function ambiguousTeam() {
  const { teamId, customerId } = await store.addTeam();
  const subscriptionId = `sub_${customerId}`;
  const ingest = openPipeline(store.database);
  const event = { customerId, subscriptionId, createdSeconds: 1_600_000_000 };
  await ingest([receivedEvent({ ...event, status: 'canceled' })]);
  await ingest([receivedEvent({ ...event, status: 'active' })]);
  return { teamId, customerId, subscriptionId, ingest };
}

/** Runs the job this often, when it is due, with this response of Stripe. Returns the requested subscriptions. */
async function run(
  ingest: Ingest,
  times: number,
  answer: (subscriptionId: string) => JsonObject | null,
) {
  const requested: string[] = [];
  const ask = openAskingJob({
    database: store.database,
    ingest,
    nonce: () => String(Math.random()),
    api: {
      retrieveProductName: async () => null,
      retrieveSubscription: async (subscriptionId) => {
        requested.push(subscriptionId);
        const body = answer(subscriptionId);
        return body && { body, answeredSeconds: null, tookMs: 0 };
      },
    },
  });
  for (let count = 0; count < times; count += 1) {
    await ask();
    await passTime(store.database.query, '1 minute');
  }
  return requested;
}

const canceled = (customerId: string, subscriptionId: string) =>
  JSON.parse(eventBody({ customerId, subscriptionId, status: 'canceled' })).data.object;

test('requests nothing when the customer no longer has a team', async () => {
  const { teamId, customerId, ingest } = await ambiguousTeam();
  await store.database.query('delete from teams where id = $1', [teamId]);
  expect(await run(ingest, 5, (id) => canceled(customerId, id))).toEqual([]);
});

test.each([
  ['snapshots that decide nothing, such as those of another customer', 'cus_another'],
  ['the answer that Stripe does not know the subscription', null],
])('asks again after longer and longer pauses after %s', async (_, answered) => {
  await store.database.query('truncate instep.questions');
  const { ingest, teamId } = await ambiguousTeam();
  const requested = await run(ingest, 30, (id) => answered && canceled(answered, id));
  expect(requested.length).toBeGreaterThan(3);
  expect(requested.length).toBeLessThan(10);
  await store.database.query('delete from teams where id = $1', [teamId]);
});

test('a snapshot that the database refuses keeps no other subscription waiting', async () => {
  await store.database.query('truncate instep.customers, instep.events');
  const refused = await ambiguousTeam();
  const other = await ambiguousTeam();
  await store.database.query(
    `alter table teams add constraint objection
       check (id <> ${refused.teamId} or subscription_status <> 'canceled')`,
  );
  const customerOf = new Map([refused, other].map((one) => [one.subscriptionId, one.customerId]));
  await run(other.ingest, 1, (id) => canceled(customerOf.get(id) ?? '', id));
  await store.database.query('alter table teams drop constraint objection');
  expect(await store.planOf(refused.teamId)).toMatchObject({ subscriptionStatus: 'active' });
  expect(await store.planOf(other.teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
});

test('a locked team keeps no other subscription waiting, and its snapshot is taken again', async () => {
  await store.database.query('truncate instep.customers, instep.events');
  const locked = await ambiguousTeam();
  const other = await ambiguousTeam();
  const customerOf = new Map([locked, other].map((one) => [one.subscriptionId, one.customerId]));
  let failures = 1;
  const ingest: Ingest = async (events) => {
    const isLocked = events.some(
      (event) => event.kind !== 'unreadable' && event.subscription.customerId === locked.customerId,
    );
    if (isLocked && failures > 0) {
      failures -= 1;
      throw new DatabaseBusy('locked');
    }
    return await other.ingest(events);
  };
  const snapshots = await run(ingest, 1, (id) => canceled(customerOf.get(id) ?? '', id));
  expect(snapshots).toHaveLength(2);
  expect(await store.planOf(other.teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
  await run(ingest, 1, (id) => canceled(customerOf.get(id) ?? '', id));
  expect(await store.planOf(locked.teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
});
