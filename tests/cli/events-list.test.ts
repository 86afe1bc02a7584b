import type { ApplicationId } from 'instep';
import { beforeAll, expect, test } from 'vitest';
import { jsonLines, useLog } from '../support/service/log-service.ts';
import { someOf } from '../support/test-length.ts';

const log = useLog();
const MINUTE_MS = 60_000;
const DELETED = 'customer.subscription.deleted';
let teamId: ApplicationId;

beforeAll(async () => {
  teamId = await log.addTeam('cus_a');
  await log.addTeam('cus_b');
  const daysAgo = (days: number) => Date.now() - days * 24 * 60 * MINUTE_MS;
  const a = { customerId: 'cus_a' };
  await log.deliver({ ...a, eventId: 'evt_1', createdSeconds: 100 }, daysAgo(9));
  const canceled = { ...a, eventId: 'evt_2', type: DELETED, status: 'canceled' };
  await log.deliver({ ...canceled, createdSeconds: 200 }, daysAgo(3));
  await log.deliver({ ...a, eventId: 'evt_3', createdSeconds: 150 }, daysAgo(2));
  await log.deliver({ customerId: 'cus_b', eventId: 'evt_4' });
  await log.deliver({ customerId: 'cus_nobody', eventId: 'evt_5' });
  await log.deliverBody(`{"id":"evt_6","type":"${DELETED}","data":null}`);
});

async function idsOf(...args: string[]): Promise<unknown[]> {
  const { code, stdout, stderr } = await log.events(['list', '--json', ...args]);
  expect({ code, stderr: stderr.replace('no events\n', '') }).toEqual({ code: 0, stderr: '' });
  return jsonLines(stdout).map(({ eventId }) => String(eventId).replace('evt_', ''));
}

const FILTERS = [
  ['', '6 5 4 3 2 1'],
  ['--customer cus_a --limit 1', '3'],
  ['--limit 2', '6 5'],
  ['--outcome stale', '3'],
  ['--outcome unreadable', '6'],
] as const;

test.concurrent.each(someOf(4, FILTERS))('list %s', async (args, expected) => {
  const ids = await idsOf(...args.split(' ').filter((word) => word !== ''));
  expect(ids.join(' ')).toBe(expected);
});

test('lists the events of a team', async () => {
  expect(await idsOf('--team', String(teamId))).toEqual(['3', '2', '1']);
});

test('--json prints the details of each event', async () => {
  const { stdout } = await log.events(['list', '--json', '--outcome', 'stale']);
  expect(jsonLines(stdout)).toEqual([
    {
      position: await log.positionOf('evt_3'),
      eventId: 'evt_3',
      type: 'customer.subscription.updated',
      customerId: 'cus_a',
      subscriptionId: 'sub_1',
      status: 'active',
      createdAt: '1970-01-01T00:02:30.000Z',
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      outcome: 'stale',
      deliveries: 1,
    },
  ]);
});

test('escapes control characters in ids', async () => {
  await log.deliver({ customerId: 'cus_\u001b[2J\u202e', eventId: 'evt_\u009b1m' });
  const { stdout } = await log.events(['list', '--limit', '1']);
  expect(stdout).toMatch(/evt_\\u\{9b\}1m .*cus_\\u\{1b\}\[2J\\u\{202e\}/);
});
