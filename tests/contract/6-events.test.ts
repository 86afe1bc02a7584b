import { expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

async function team() {
  const { teamId, customerId } = await service.addTeam();
  const send = async (fields: Parameters<typeof eventBody>[0]) => {
    const body = eventBody({ customerId, ...fields });
    expect((await service.postSigned(body)).status).toBe(200);
    return body;
  };
  return { send, status: async () => (await service.planOf(teamId))?.subscriptionStatus, teamId };
}

test('6.1, 6.2 customer, subscription and status are read from data.object', async () => {
  const { send, teamId } = await team();
  await send({ subscriptionId: 'sub_61', status: 'trialing' });
  expect(await service.planOf(teamId)).toMatchObject({
    providerSubscriptionId: 'sub_61',
    subscriptionStatus: 'trialing',
  });
});

test('6.3 without a team nothing changes, and an error with the customer is logged', async () => {
  await service.postSigned(eventBody({ eventId: 'evt_63', customerId: 'cus_63' }));
  const line = await service.process.logged({ eventId: 'evt_63' });
  expect(line).toMatchObject({ level: 'error', customerId: 'cus_63', msg: 'team not found' });
});

test('6.4 any other type is only logged', async () => {
  const { send, status } = await team();
  await send({ eventId: 'evt_64', type: 'customer.subscription.created' });
  const line = await service.process.logged({ eventId: 'evt_64' });
  expect(line).toMatchObject({ type: 'customer.subscription.created' });
  expect(await status()).toBeNull();
});

test('6.5 a late duplicate changes nothing', async () => {
  const { send, status } = await team();
  const active = await send({ status: 'active' });
  await send({ status: 'canceled' });
  expect((await service.postSigned(active)).status).toBe(200);
  expect(await status()).toBe('canceled');
});

test('6.5 200 concurrent copies are applied once', async () => {
  const { customerId } = await service.addTeam();
  const body = eventBody({ customerId, eventId: 'evt_storm' });
  const answers = await Promise.all(Array.from({ length: 200 }, () => service.postSigned(body)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  const rows = await service.database.query(
    `select deliveries, outcome from instep.events where event_id = 'evt_storm'`,
  );
  expect(rows).toEqual([{ deliveries: 200, outcome: 'applied' }]);
});

test('6.5 an older event does not restore an old state', async () => {
  const { send, status } = await team();
  await send({ status: 'canceled', createdSeconds: 2_000 });
  await send({ status: 'active', createdSeconds: 1_999 });
  expect(await status()).toBe('canceled');
});

test('6.5 an event without effect does not make earlier events stale', async () => {
  const { send, status } = await team();
  await send({ status: 'past_due', createdSeconds: 3_000 });
  await send({ status: 'active', createdSeconds: 2_000 });
  expect(await status()).toBe('active');
});

test('6 two events with one id and different content are two events', async () => {
  const { send, status } = await team();
  const shared = { eventId: 'evt_00000000000000', createdSeconds: 1_326_853_478 };
  await send({ ...shared, status: 'active' });
  await send({ ...shared, status: 'canceled' });
  expect(await status()).toBe('canceled');
});

test('6 events without id or created are processed', async () => {
  const { send, status } = await team();
  await send({ status: 'trialing', createdSeconds: 1_000 });
  const { id: _id, created: _created, ...event } = JSON.parse(eventBody());
  event.data.object.customer = JSON.parse(await send({ status: 'past_due' })).data.object.customer;
  await service.postSigned(JSON.stringify(event));
  expect(await status()).toBe('active');
});

test.each([
  [{ livemode: true }, { mismatch: 'mode', mode: 'live' }],
  [{ account: 'acct_2' }, { mismatch: 'account', account: 'acct_2' }],
])(
  '6 an event that does not match the API key is applied and reported: %j',
  async (members, line) => {
    const { teamId, customerId } = await service.addTeam();
    const event = { ...JSON.parse(eventBody({ customerId })), ...members };
    const { status } = await service.postSigned(JSON.stringify(event));
    expect(status).toBe(200);
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    const msg = 'event from another mode or account';
    expect(await service.process.logged({ msg, eventId: event.id })).toMatchObject({
      level: 'warn',
      ...line,
    });
  },
);
