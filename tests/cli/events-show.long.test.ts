import { expect, test } from 'vitest';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();

/** A team with a history. Event fields that the test does not set are arbitrary. */
async function teamWithHistory(customerId: string) {
  const teamId = await log.addTeam(customerId);
  const deliver = (name: string, createdSeconds: number, status: string) =>
    log.deliver({ customerId, eventId: `evt_${customerId}_${name}`, createdSeconds, status });
  await deliver('paid', 2_000, 'active');
  await deliver('older', 1_000, 'unpaid');
  await deliver('ended', 3_000, 'canceled');
  return teamId;
}

test('finds an event by position and prints JSON', async () => {
  const teamId = await teamWithHistory('cus_j');
  const position = await log.positionOf('evt_cus_j_paid');
  const { code, stdout } = await log.events(['show', String(position), '--json']);
  expect(code).toBe(0);
  const none = {
    providerSubscriptionId: null,
    providerProductId: null,
    planName: null,
    subscriptionStatus: null,
  };
  expect(jsonLines(stdout)).toEqual([
    {
      position,
      eventId: 'evt_cus_j_paid',
      type: 'customer.subscription.updated',
      customerId: 'cus_j',
      subscriptionId: 'sub_1',
      status: 'active',
      createdAt: '1970-01-01T00:33:20.000Z',
      receivedAt: expect.any(String),
      outcome: 'applied',
      deliveries: 1,
      productId: 'prod_1',
      replaced: null,
      why: [
        "It was the customer's newest event at that time, and the status active gives the team its plan.",
      ],
      reasons: ['newest-event'],
      before: null,
      after: {
        providerSubscriptionId: 'sub_1',
        providerProductId: 'prod_1',
        planName: 'Pro',
        subscriptionStatus: 'active',
      },
      now: [{ teamId, plan: { ...none, subscriptionStatus: 'canceled' } }],
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

test('an id of several events exits with 1 and lists their positions', async () => {
  for (const createdSeconds of [1, 2]) await log.deliver({ eventId: 'evt_0', createdSeconds });
  const { code, stdout, stderr } = await log.events(['show', 'evt_0']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^instep: 2 events have the id evt_0: give the position of one of them \[EVENT_AMBIGUOUS\]\n {2}\d+ {2}\d{4}-.*Z {2}parked\n {2}\d+ {2}\d{4}-.*\n$/,
  );
});

test.each([
  ['evt_none', 'no event in the log has the id evt_none'],
  ['99999999', 'there is no event at position 99999999'],
  ['99999999999999999999', 'there is no event at position 99999999999999999999'],
])('unknown event %s exits with 1 and one line', async (id, message) => {
  expect(await log.events(['show', id])).toEqual({
    code: 1,
    stdout: '',
    stderr: `instep: ${message} [NOT_FOUND]\n`,
  });
});
