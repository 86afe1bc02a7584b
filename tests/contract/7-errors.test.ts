import { expect, test, vi } from 'vitest';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

test('7 a failed signature is logged as an error', async () => {
  await service.postRaw(eventBody(), { 'stripe-signature': 't=1,v1=x' });
  const line = await service.process.logged({ msg: 'webhook signature verification failed' });
  expect(line).toMatchObject({ level: 'error' });
});

test('7 an event that is not handled is logged with its type', async () => {
  await service.postSigned(eventBody({ eventId: 'evt_7', type: 'charge.failed' }));
  const line = await service.process.logged({ eventId: 'evt_7' });
  expect(line).toMatchObject({ level: 'info', type: 'charge.failed' });
});

const base = { customer: 'cus_7', status: 'active' };
const event = (object: unknown) => ({
  id: 'evt_odd',
  type: 'customer.subscription.updated',
  data: { object },
});

test.each([
  ['no data', { ...event(base), data: null }],
  ['no object', event(null)],
  ['no customer', event({ status: 'active' })],
  ['NUL in the customer', event({ ...base, customer: 'cus_7\0' })],
  ['half a surrogate pair in the status', event({ ...base, status: '\udc00' })],
  ['12 kB of an id', event({ ...base, id: 'x'.repeat(12_000) })],
  ['a huge number', { ...event(base), created: 1e300 }],
  ['a list as the items', event({ ...base, items: [] })],
])('7 signed, but of an unknown shape, gets a 200 and logged: %s', async (_, body) => {
  const { teamId } = await service.addTeam();
  await service.database.query('update teams set provider_customer_id = null');
  await service.database.query(`update teams set provider_customer_id = 'cus_7' where id = $1`, [
    teamId,
  ]);
  const before = service.process.lines.length;
  const response = await service.postSigned(JSON.stringify(body));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"received":true}');
  expect(await service.planOf(teamId)).toEqual(NO_PLAN);
  await vi.waitFor(() => {
    const lines = service.process.lines.slice(before).join('\n');
    expect(lines).toContain('event unreadable');
    expect(lines).toContain('evt_odd');
  });
  const logged = 'select outcome from instep.events where body = $1';
  const rows = await service.database.query(logged, [Buffer.from(JSON.stringify(body))]);
  expect(rows).toEqual([{ outcome: 'unreadable' }]);
});

test.each([
  ['null', null],
  ['a list', []],
  ['no type', { id: 'evt_odd', data: {} }],
])('7 signed JSON that is not an event gets a 200 and logged: %s', async (_, body) => {
  const before = service.process.lines.length;
  const response = await service.postSigned(JSON.stringify(body));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"received":true}');
  await vi.waitFor(() => {
    const lines = service.process.lines.slice(before).join('\n');
    expect(lines).toContain('body is not an event');
    expect(lines).not.toContain('event unreadable');
    if (body !== null && 'id' in body) expect(lines).toContain('evt_odd');
  });
});

test('7 signed JSON nested 20,000 deep, or with a prototype, gets a 200', async () => {
  const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const text = JSON.stringify(event(base));
  for (const body of [
    nested,
    text.replace('"cus_7"', nested),
    text.replace('customer', '__proto__'),
  ]) {
    expect((await service.postSigned(body)).status).toBe(200);
  }
});
