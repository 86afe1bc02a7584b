import { createSubscriptionEvent, signedRequest } from 'instep/testing';
import { describe, expect, test } from 'vitest';

const NOW_MS = 1_767_225_600_000;
const now = () => NOW_MS;

describe('an event with no fields but the customer', () => {
  const event = createSubscriptionEvent({ customerId: 'cus_1' }, now);

  test('is an update to active, created now', () => {
    expect(event).toMatchObject({ type: 'customer.subscription.updated', created: 1_767_225_600 });
    expect(event.data.object).toMatchObject({ customer: 'cus_1', status: 'active' });
  });
});

test.each([
  [{ status: 'canceled' }, 'customer.subscription.deleted', 'canceled'],
  [{ type: 'customer.subscription.deleted' }, 'customer.subscription.deleted', 'canceled'],
  [
    { type: 'customer.subscription.updated', status: 'canceled' },
    'customer.subscription.updated',
    'canceled',
  ],
  [{ status: 'past_due' }, 'customer.subscription.updated', 'past_due'],
])('%j has the type %s and the status %s', (fields, type, status) => {
  const event = createSubscriptionEvent({ customerId: 'cus_1', ...fields }, now);
  expect([event.type, event.data.object.status]).toEqual([type, status]);
});

test('the same fields have the same event id, and other fields have a different one', () => {
  const idOf = (status: string) => createSubscriptionEvent({ customerId: 'cus_1', status }, now).id;
  expect(idOf('active')).toBe(idOf('active'));
  expect(idOf('active')).not.toBe(idOf('trialing'));
});

test('a signed request carries the event and a signature header', async () => {
  const event = createSubscriptionEvent({ customerId: 'cus_1' }, now);
  const request = new Request('http://localhost/', signedRequest(event, 'whsec_example', now));
  expect(request.headers.get('stripe-signature')).toMatch(/^t=1767225600,v1=[0-9a-f]{64}$/);
  expect(await request.json()).toEqual(event);
});
