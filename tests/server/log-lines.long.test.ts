import { expect, test } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

async function lineOf(eventId: string): Promise<Record<string, unknown>> {
  await service.process.logged({ eventId });
  const all = service.process.lines.map((line): Record<string, unknown> => JSON.parse(line));
  const [line = {}, ...others] = all.filter((line) => line.eventId === eventId);
  expect(others).toEqual([]);
  return line;
}

test('writes one line per event with its id, type, customer, teams, outcome and duration', async () => {
  const { teamId, customerId } = await service.addTeam();
  const unmatched = 'cus_log_unmatched';
  const expected = [
    ['evt_log_1', 'applied', { customerId, createdSeconds: 20 }],
    ['evt_log_2', 'stale', { customerId, createdSeconds: 10 }],
    ['evt_log_3', 'unchanged', { customerId, createdSeconds: 30, status: 'past_due' }],
    ['evt_log_4', 'parked', { customerId: unmatched }],
  ] as const;
  for (const [eventId, outcome, fields] of expected) {
    expect((await service.postSigned(eventBody({ ...fields, eventId }))).status).toBe(200);
    expect(await lineOf(eventId)).toEqual({
      level: outcome === 'parked' ? 'error' : 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      eventId,
      type: 'customer.subscription.updated',
      customerId: fields.customerId,
      teamIds: outcome === 'parked' ? [] : [teamId],
      outcome,
      durationMs: expect.any(Number),
      msg: outcome === 'parked' ? 'team not found' : 'event',
    });
  }
});

test('names the account that a team has stored in place of the customer', async () => {
  const { query } = service.database;
  const teamId = await addTeam(query, { name: 'Team', customerId: 'acct_log' });
  for (const [eventId, accountId, expected] of [
    ['evt_account_1', 'acct_log', { accountId: 'acct_log', accountTeamIds: [teamId] }],
    ['evt_account_2', 'acct_of_nobody', { outcome: 'parked' }],
  ] as const) {
    const event = JSON.parse(eventBody({ eventId, customerId: `cus_of_${accountId}` }));
    event.data.object.customer_account = accountId;
    expect((await service.postSigned(JSON.stringify(event))).status).toBe(200);
    const line = await lineOf(eventId);
    expect(line).toMatchObject({ msg: 'team not found', customerId: `cus_of_${accountId}` });
    expect(line).toMatchObject(expected);
    if (!('accountId' in expected)) expect(line).not.toHaveProperty('accountId');
  }
});
