import { expect, test } from 'vitest';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();
const DELETED = 'customer.subscription.deleted';

test('lists the newest events first, those of a customer, a team or an outcome, with their details', async () => {
  const teamId = await log.addTeam('cus_a');
  const a = { customerId: 'cus_a', createdSeconds: 200 };
  await log.deliver({ ...a, eventId: 'evt_1' });
  await log.deliver({ ...a, eventId: 'evt_2', createdSeconds: 150 });
  await log.deliver({ customerId: 'cus_nobody', eventId: 'evt_3' });
  await log.deliverBody(`{"id":"evt_4","type":"${DELETED}","data":null}`);
  const list = async (args: string) => {
    const { code, stdout } = await log.events(`list --json ${args}`.trim().split(' '));
    expect(code).toBe(0);
    return jsonLines(stdout);
  };
  const idsOf = async (args: string) => (await list(args)).map(({ eventId }) => eventId);
  expect(await idsOf('')).toEqual(['evt_4', 'evt_3', 'evt_2', 'evt_1']);
  expect(await idsOf('--limit 2')).toEqual(['evt_4', 'evt_3']);
  expect(await idsOf('--customer cus_a --limit 1')).toEqual(['evt_2']);
  expect(await idsOf(`--team ${teamId}`)).toEqual(['evt_2', 'evt_1']);
  expect(await idsOf('--outcome unreadable')).toEqual(['evt_4']);
  expect(await list('--outcome stale')).toEqual([
    {
      position: await log.positionOf('evt_2'),
      ...{ eventId: 'evt_2', type: 'customer.subscription.updated', customerId: 'cus_a' },
      ...{ subscriptionId: 'sub_1', status: 'active', createdAt: '1970-01-01T00:02:30.000Z' },
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      ...{ outcome: 'stale', deliveries: 1 },
    },
  ]);
});

test('escapes control characters in ids', async () => {
  await log.deliver({ customerId: 'cus_\u001b[2J\u202e', eventId: 'evt_\u009b1m' });
  const { stdout } = await log.events(['list', '--limit', '1']);
  expect(stdout).toMatch(/evt_\\u\{9b\}1m .*cus_\\u\{1b\}\[2J\\u\{202e\}/);
});
