import { describe, expect, test } from 'vitest';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

const TYPES = ['customer.subscription.updated', 'customer.subscription.deleted'];

describe.each(TYPES)('%s', (type) => {
  test.each(['active', 'trialing'])('3 %s sets the fields', async (status) => {
    const { teamId, customerId } = await service.addTeam();
    await service.postSigned(eventBody({ customerId, type, status, subscriptionId: 'sub_3' }));
    expect(await service.planOf(teamId)).toEqual({
      providerSubscriptionId: 'sub_3',
      providerProductId: 'prod_1',
      planName: null,
      subscriptionStatus: status,
    });
  });

  test.each(['canceled', 'unpaid'])('3 %s clears the fields', async (status) => {
    const { teamId, customerId } = await service.addTeam();
    await service.postSigned(eventBody({ customerId }));
    await service.postSigned(eventBody({ customerId, type, status }));
    expect(await service.planOf(teamId)).toEqual({ ...NO_PLAN, subscriptionStatus: status });
  });

  test.each(['past_due', 'incomplete', 'incomplete_expired', 'paused', 'of_tomorrow'])(
    '3 %s makes no update',
    async (status) => {
      const { teamId, customerId } = await service.addTeam();
      await service.postSigned(eventBody({ customerId, productId: 'prod_before' }));
      const before = await service.planOf(teamId);
      const response = await service.postSigned(eventBody({ customerId, type, status }));
      expect(response.status).toBe(200);
      expect(await service.planOf(teamId)).toEqual(before);
    },
  );
});

test('3 the name of the plan is the name of the product object of the first item', async () => {
  const { teamId, customerId } = await service.addTeam();
  const event = JSON.parse(eventBody({ customerId }));
  const [item] = event.data.object.items.data;
  item.plan.product = { id: 'prod_gold', object: 'product', name: 'Gold' };
  event.data.object.items.data.push({ plan: { product: { id: 'prod_2', name: 'Second' } } });
  await service.postSigned(JSON.stringify(event));
  expect(await service.planOf(teamId)).toMatchObject({
    providerProductId: 'prod_gold',
    planName: 'Gold',
  });
});
