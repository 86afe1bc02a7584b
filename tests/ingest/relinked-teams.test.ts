import type { ApplicationId } from 'instep';
import { beforeAll, describe, expect, test } from 'vitest';
import { addTeam, linkTeam } from '../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline, openWholePipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const run = (text: string, values: readonly unknown[] = []) => store.database.query(text, values);

beforeAll(async () => {
  // The starter's table has no unique constraint on customers.
  await run('alter table teams drop constraint if exists teams_provider_customer_id_key');
  await run('drop index if exists teams_provider_customer_id_key');
});

const ACTIVE = { subscriptionStatus: 'active', providerSubscriptionId: 'sub_1' };

/** A team with a plan, and the events that gave it: an older one and the newest. */
async function teamWithPlan() {
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  const newest = receivedEvent({ customerId, createdSeconds: 2_000, status: 'active' });
  await ingest([newest]);
  const older = receivedEvent({ customerId, createdSeconds: 1_000, status: 'canceled' });
  return { ingest, teamId, customerId, newest, older };
}

/** Runs the job of an instance that has just started. Returns the ids of the teams that got a plan. */
async function fillDueTeams(): Promise<ApplicationId[]> {
  const { query } = store.database;
  const [last] = await query<{ id: number }>('select max(id) as id from instep.plan_changes');
  await openSettleJobs(store.database).emptyTeams(new AbortController().signal);
  const text = 'select team_id from instep.plan_changes where id > $1 order by id';
  const changed = await query<{ team_id: string }>(text, [last?.id ?? 0]);
  return changed.map(({ team_id }) => Number(team_id));
}

async function link(teamId: ApplicationId, customerId: string): Promise<void> {
  await store.database.transaction((query) => linkTeam(query, teamId, customerId));
  await openWholePipeline(store.database).settle(customerId);
}

const addEmptyTeam = (customerId: string) =>
  addTeam(store.database.query, { name: 'Another', customerId });

const CHANGES = {
  'the customer was moved to another team': async (teamId: ApplicationId, customerId: string) => {
    await run('update teams set provider_customer_id = null where id = $1', [teamId]);
    return addEmptyTeam(customerId);
  },
  'the team was deleted and created again': async (teamId: ApplicationId, customerId: string) => {
    await run('delete from teams where id = $1', [teamId]);
    return addEmptyTeam(customerId);
  },
  'a second team has the same customer': (_: ApplicationId, customerId: string) =>
    addEmptyTeam(customerId),
};

describe.each(Object.entries(CHANGES))('when %s', (_, change) => {
  test.each(['newest', 'older'] as const)(
    'a repeated or stale delivery gives it the plan: %s',
    async (name) => {
      const { ingest, teamId, customerId, ...events } = await teamWithPlan();
      const emptyId = await change(teamId, customerId);
      const [result] = await ingest([events[name]]);
      expect(result?.outcome).toBe(name === 'newest' ? 'duplicate' : 'stale');
      expect(await store.planOf(emptyId)).toMatchObject(ACTIVE);
    },
  );

  test('maintenance gives it the plan', async () => {
    const { teamId, customerId } = await teamWithPlan();
    const emptyId = await change(teamId, customerId);
    expect(await fillDueTeams()).toEqual([emptyId]);
    expect(await store.planOf(emptyId)).toMatchObject(ACTIVE);
    expect(await fillDueTeams()).toEqual([]);
  });
});

test('a team is not filled while an event of its customer is decided for another team', async () => {
  const { teamId, customerId } = await teamWithPlan();
  const secondId = await addEmptyTeam(customerId);
  await whileHeld(store.database, lockTeam(teamId), async () => {
    await fillDueTeams();
    expect(await store.planOf(secondId)).toEqual(NO_PLAN);
  });
  expect(await fillDueTeams()).toEqual([secondId]);
});

test('a team that is linked to another customer loses the plan of the former one', async () => {
  const { teamId } = await teamWithPlan();
  await link(teamId, store.newCustomer());
  expect(await store.planOf(teamId)).toEqual(NO_PLAN);
});

test('a team that is linked to a customer with a plan gets that in one change', async () => {
  const { ingest, customerId } = await teamWithPlan();
  const productId = 'prod_2';
  await ingest([receivedEvent({ customerId, createdSeconds: 3_000, productId })]);
  const { teamId, customerId: former } = await teamWithPlan();
  const changes = () =>
    run(
      `select cause, customer_id, provider_product_id_before as before,
              provider_product_id_after as after
         from instep.plan_changes where team_id = $1 order by id`,
      [String(teamId)],
    );
  for (let count = 0; count < 2; count += 1) {
    await link(teamId, customerId);
    expect(await store.planOf(teamId)).toMatchObject({ ...ACTIVE, providerProductId: productId });
    expect(await changes()).toEqual([
      { cause: 'event', customer_id: former, before: null, after: 'prod_1' },
      { cause: 'link', customer_id: customerId, before: 'prod_1', after: 'prod_2' },
    ]);
  }
});

test('maintenance completes a link whose process was killed before the plan was written', async () => {
  const { ingest, customerId } = await teamWithPlan();
  await ingest([receivedEvent({ customerId, createdSeconds: 3_000, productId: 'prod_2' })]);
  const { teamId } = await teamWithPlan();
  await store.database.transaction((query) => linkTeam(query, teamId, customerId));
  await openSettleJobs(store.database).parkedEvents(new AbortController().signal);
  expect(await store.planOf(teamId)).toMatchObject({ providerProductId: 'prod_2' });
});
