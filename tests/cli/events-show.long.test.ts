import { expect, test } from 'vitest';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();

test('finds an event by position and prints JSON', async () => {
  const teamId = await log.addTeam('cus_j');
  await log.deliver({ customerId: 'cus_j', eventId: 'evt_paid', createdSeconds: 2_000 });
  const position = await log.positionOf('evt_paid');
  const { code, stdout } = await log.events(['show', String(position), '--json']);
  expect(code).toBe(0);
  const plan = {
    ...{ providerSubscriptionId: 'sub_1', providerProductId: 'prod_1' },
    ...{ planName: 'Pro', subscriptionStatus: 'active' },
  };
  expect(jsonLines(stdout)).toEqual([
    {
      ...{ position, eventId: 'evt_paid', type: 'customer.subscription.updated' },
      ...{ customerId: 'cus_j', subscriptionId: 'sub_1', status: 'active', productId: 'prod_1' },
      ...{ createdAt: '1970-01-01T00:33:20.000Z', receivedAt: expect.any(String) },
      ...{ outcome: 'applied', deliveries: 1, replaced: null },
      why: [expect.any(String)],
      reasons: ['newest-event'],
      ...{ before: null, after: plan, now: [{ teamId, plan }] },
    },
  ]);
});

test('--body prints the body byte for byte', async () => {
  const body = '{ "id":"evt_b", "type":"customer.subscription.deleted",\t"data": "\\u0000é" }\n';
  await log.deliverBody(body);
  const { code, stdout } = await log.events(['show', 'evt_b', '--body']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: body });
});

test('shows only the names of previous attributes', async () => {
  // The bodies contain canaries: see tests/support/secrets/test-secrets.ts.
  await log.deliver({ eventId: 'evt_canaries', previousAttributes: { metadata: { a: 1 } } });
  const { stdout } = await log.events(['show', 'evt_canaries']);
  expect(stdout).toMatch(/^replaced {8}metadata$/m);
});

test('of several events with one id, the newest is shown; an unknown one exits with 1', async () => {
  for (const status of ['active', 'unpaid']) await log.deliver({ eventId: 'evt_0', status });
  const { stdout } = await log.events(['show', 'evt_0', '--json']);
  expect(jsonLines(stdout)).toMatchObject([{ eventId: 'evt_0', status: 'unpaid' }]);
  for (const id of ['evt_none', '99999999', '99999999999999999999']) {
    const unknown = await log.events(['show', id]);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(new RegExp(`^instep: .*${id} \\[NOT_FOUND\\]\n$`));
  }
});
