import type { ApplicationId } from 'instep';
import { ApiCollection, startFakeStripeApi } from 'instep/testing';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { startInstep } from '../support/process/instep-process.ts';
import { useService } from '../support/service/contract-service.ts';
import { hasUnknownOrder } from '../support/service/customer-states.ts';
import { eventBody } from '../support/stripe/events.ts';

const LINK = 'update teams set provider_customer_id = $2 where id = $1';

const account = {
  productNames: { prod_known: 'Known' } as Record<string, string>,
  subscriptions: new ApiCollection(),
  isDown: false,
};
const api = await startFakeStripeApi(account);
afterAll(() => api.close());

const service = useService({ STRIPE_API_BASE: api.url });
const query = (statement: string) => service.database.query(statement);

async function eventually(teamId: ApplicationId, plan: object): Promise<void> {
  const look = async () => expect(await service.planOf(teamId)).toMatchObject(plan);
  // After the start of a server, the first search for parked events can take nearly 15 s.
  await vi.waitFor(look, { timeout: 30_000, interval: 100 });
}

async function outcomesOf(customerId: string) {
  return await query(
    `select event_id, outcome, deliveries from instep.events
      where customer_id = '${customerId}' order by position`,
  );
}

describe('parked events', () => {
  test('are applied in the right order once a team has their customer', async () => {
    const customerId = 'cus_faster_than_the_app';
    const event = { customerId, productId: 'prod_known' };
    await service.postSigned(eventBody({ ...event, eventId: 'evt_p2', createdSeconds: 200 }));
    await service.postSigned(
      eventBody({ ...event, eventId: 'evt_p1', createdSeconds: 100, status: 'canceled' }),
    );
    const teamId = await addTeam(service.database.query, { name: 'Late', customerId: null });
    expect(await outcomesOf(customerId)).toMatchObject([
      { outcome: 'parked' },
      { outcome: 'parked' },
    ]);
    await service.database.query(LINK, [teamId, customerId]);
    await eventually(teamId, { subscriptionStatus: 'active', planName: 'Known' });
    await vi.waitFor(async () =>
      expect(await outcomesOf(customerId)).toEqual([
        { event_id: 'evt_p2', outcome: 'applied', deliveries: 1 },
        { event_id: 'evt_p1', outcome: 'stale', deliveries: 1 },
      ]),
    );
  });

  test('do not undo an event that arrived after the link', async () => {
    const customerId = 'cus_overtaken';
    await service.postSigned(eventBody({ customerId, createdSeconds: 100 }));
    const teamId = await addTeam(service.database.query, { name: 'Overtaken', customerId });
    const ended = eventBody({ customerId, createdSeconds: 200, status: 'canceled' });
    await service.postSigned(ended);
    await vi.waitFor(
      async () =>
        expect(await outcomesOf(customerId)).toMatchObject([
          { outcome: 'applied' },
          { outcome: 'applied' },
        ]),
      { timeout: 15_000 },
    );
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
  });

  test('are applied once by several instances', async () => {
    const DATABASE_URL = service.databaseUrl;
    const second = await startInstep({ DATABASE_URL, STRIPE_API_BASE: api.url });
    const customers = Array.from({ length: 20 }, (_, index) => `cus_many_${index}`);
    for (const customerId of customers) {
      await service.postSigned(eventBody({ customerId, createdSeconds: 10, status: 'trialing' }));
      await service.postSigned(eventBody({ customerId, createdSeconds: 20 }));
    }
    const teamIds = await Promise.all(
      customers.map((customerId) => addTeam(service.database.query, { name: 'Many', customerId })),
    );
    for (const teamId of teamIds) await eventually(teamId, { subscriptionStatus: 'active' });
    await vi.waitFor(async () => {
      const left = await query(`select 1 from instep.events where outcome = 'parked'`);
      expect(left).toEqual([]);
    });
    const counted = await query(
      `select distinct deliveries from instep.events where customer_id like 'cus_many_%'`,
    );
    expect(counted).toEqual([{ deliveries: 1 }]);
    expect(await second.stop()).toBe(0);
  });
});

describe('product names', () => {
  test('are written once the API answers', async () => {
    account.isDown = true;
    const { teamId, customerId } = await service.addTeam();
    await service.postSigned(eventBody({ customerId, productId: 'prod_late' }));
    expect(await service.planOf(teamId)).toMatchObject({
      providerProductId: 'prod_late',
      planName: null,
    });
    account.productNames.prod_late = 'Late';
    account.isDown = false;
    await eventually(teamId, { planName: 'Late' });
  });
});

describe('ambiguous orders', () => {
  const tied = (customerId: string, subscriptionId: string) => ({
    customerId,
    subscriptionId,
    createdSeconds: 1_600_000_000,
  });

  test('are decided by a snapshot from the API', async () => {
    const { teamId, customerId } = await service.addTeam();
    const event = tied(customerId, 'sub_tied');
    const canceled = JSON.parse(eventBody({ ...event, status: 'canceled' }));
    account.subscriptions.set(canceled.data.object);
    await service.postSigned(eventBody({ ...event, status: 'canceled' }));
    await service.postSigned(eventBody({ ...event, status: 'active' }));
    await eventually(teamId, { subscriptionStatus: 'canceled' });
    expect(await hasUnknownOrder(service.database.query, customerId)).toBe(false);
  });

  test('stay ambiguous while the API is down, and nothing waits for it', async () => {
    account.isDown = true;
    const { teamId, customerId } = await service.addTeam();
    const event = tied(customerId, 'sub_open');
    await service.postSigned(eventBody({ ...event, status: 'canceled' }));
    await service.postSigned(eventBody({ ...event, status: 'active' }));
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await hasUnknownOrder(service.database.query, customerId)).toBe(true);
    await service.postSigned(
      eventBody({ customerId, subscriptionId: 'sub_open', status: 'unpaid' }),
    );
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'unpaid' });
    account.isDown = false;
  });
});
