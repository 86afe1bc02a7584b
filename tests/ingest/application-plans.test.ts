import { type ApplicationId, createLogger } from 'instep';
import { describe, expect, test } from 'vitest';
import { IngestPipeline } from '../support/internals/ingest.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { rebuildTeams } from '../support/service/rebuilding.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

/** The row that the starter's checkout route writes before any event of the new subscription arrives. */
const CHECKOUT = {
  providerSubscriptionId: 'sub_new',
  providerProductId: 'prod_new',
  planName: 'New',
  subscriptionStatus: 'trialing',
};

async function teamAfterCheckout(planSelection: 'newest' | 'best') {
  const { ingest } = new IngestPipeline({
    database: store.database,
    api: { retrieveProductName: async () => null },
    logger: createLogger('silent'),
    planSelection,
    maxQueued: 100,
  });
  const { teamId, customerId } = await store.addTeam();
  const old = { customerId, subscriptionId: 'sub_old' };
  await ingest([receivedEvent({ ...old, createdSeconds: 100, status: 'active' })]);
  await store.database.query(
    `update teams
        set provider_subscription_id = 'sub_new', provider_product_id = 'prod_new',
            plan_name = 'New', subscription_status = 'trialing'
      where id = $1`,
    [teamId],
  );
  const deliver = async (status: string, subscriptionId: string, createdSeconds: number) => {
    const event = { customerId, subscriptionId, status, createdSeconds };
    return (await ingest([receivedEvent(event)]))[0];
  };
  return { teamId, deliver };
}

const rebuildTeam = (teamId: ApplicationId) => rebuildTeams(store.database, { teamId });

describe('a plan that the application wrote', () => {
  test('is kept at the end of an old subscription with TEAM_PLAN=best, and reported', async () => {
    const { teamId, deliver } = await teamAfterCheckout('best');
    expect(await deliver('canceled', 'sub_old', 200)).toMatchObject({
      keptTeamIds: [teamId],
    });
    expect(await store.planOf(teamId)).toEqual(CHECKOUT);
    await deliver('active', 'sub_new', 300);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    await deliver('canceled', 'sub_new', 400);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
  });

  test('is changed by an event that counts, as the contract says', async () => {
    const { teamId, deliver } = await teamAfterCheckout('newest');
    expect(await deliver('canceled', 'sub_old', 200)).toMatchObject({ keptTeamIds: [] });
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
    const best = await teamAfterCheckout('best');
    await best.deliver('active', 'sub_old', 200);
    expect(await store.planOf(best.teamId)).toMatchObject({ providerSubscriptionId: 'sub_old' });
  });
});

describe('rebuild', () => {
  test('repairs a row that Instep wrote with another TEAM_PLAN', async () => {
    const { teamId, deliver } = await teamAfterCheckout('best');
    await deliver('active', 'sub_old', 200);
    await deliver('trialing', 'sub_other', 300);
    expect(await store.planOf(teamId)).toMatchObject({ providerSubscriptionId: 'sub_old' });
    expect(await rebuildTeam(teamId)).toHaveLength(1);
    expect(await store.planOf(teamId)).toMatchObject({ providerSubscriptionId: 'sub_other' });
  });

  test('keeps a plan that the application wrote, even for a subscription with events', async () => {
    const { teamId, deliver } = await teamAfterCheckout('newest');
    await deliver('trialing', 'sub_new', 100);
    await deliver('active', 'sub_other', 200);
    const checkout = `
      update teams
         set provider_subscription_id = 'sub_new', subscription_status = 'trialing'
       where id = $1`;
    await store.database.query(checkout, [teamId]);
    expect(await rebuildTeam(teamId)).toEqual([]);
    expect(await store.planOf(teamId)).toMatchObject({ providerSubscriptionId: 'sub_new' });
  });
});
