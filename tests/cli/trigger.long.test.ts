import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';

const service = useService();
const UPDATED = 'customer.subscription.updated';

function trigger(type: string, args: readonly string[], environment = {}) {
  return runInstep(['trigger', type, ...args], {
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PORT: new URL(service.url).port,
    ...environment,
  });
}

test('signs and posts an event that changes the team', async () => {
  const { teamId, customerId } = await service.addTeam();
  const args = ['--subscription', 'sub_t', '--product', 'prod_t', '--status', 'trialing', '--json'];
  // The first of several secrets signs.
  const secrets = { STRIPE_WEBHOOK_SECRET: `${WEBHOOK_SECRET},whsec_old` };
  const ended = await trigger(UPDATED, ['--customer', customerId, ...args], secrets);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ended.stdout)).toEqual({
    eventId: expect.stringMatching(/^evt_\w+$/),
    status: 200,
    response: '{"received":true}',
  });
  expect(await service.planOf(teamId)).toEqual({
    providerSubscriptionId: 'sub_t',
    providerProductId: 'prod_t',
    planName: null,
    subscriptionStatus: 'trialing',
  });
});

test('--id and --created send duplicates and older events, active by default', async () => {
  const { teamId, customerId } = await service.addTeam();
  const send = async (...args: string[]) => {
    await trigger(UPDATED, ['--customer', customerId, ...args]);
    return (await service.planOf(teamId))?.subscriptionStatus;
  };
  const same = ['--id', 'evt_same', '--created', '2000'];
  expect(await send(...same)).toBe('active');
  expect(await send(...same)).toBe('active');
  expect(await send('--created', '1000', '--status', 'unpaid')).toBe('active');
  const statement = `select event_id = 'evt_same' as same, outcome, deliveries,
                            extract(epoch from created_at)::int as created
                       from instep.events where customer_id = $1 order by position`;
  expect(await service.database.query(statement, [customerId])).toEqual([
    { same: true, outcome: 'applied', deliveries: 2, created: 2_000 },
    { same: false, outcome: 'stale', deliveries: 1, created: 1_000 },
  ]);
});

test('a response other than 200 exits with 1', async () => {
  const secret = { STRIPE_WEBHOOK_SECRET: 'whsec_of_another_endpoint' };
  const args = ['--customer', 'cus_any', '--json'];
  const { code, stdout, stderr } = await trigger(UPDATED, args, secret);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ status: 400 });
  expect(stderr).toContain('400: give this command the STRIPE_WEBHOOK_SECRET of the server');
});
