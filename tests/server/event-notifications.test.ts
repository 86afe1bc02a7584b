import {
  ApiCollection,
  type ApiFault,
  createEventNotification,
  startFakeStripeApi,
} from 'instep/testing';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { undescribed } from '../contract/openapi-document.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const events = new ApiCollection();
const subscriptions = new ApiCollection();
let fault: ((path: string) => ApiFault | undefined) | undefined;
const calls: string[] = [];
const api = await startFakeStripeApi({
  events,
  subscriptions,
  onCall(path) {
    calls.push(path);
    return fault?.(path);
  },
});
afterAll(() => api.close());

const service = useService({ STRIPE_API_BASE: api.url, CATCH_UP_INTERVAL: 'off' });

beforeEach(() => {
  fault = undefined;
  calls.length = 0;
});

/** An event at Stripe, and the notification that announces it. */
function announce(fields: Parameters<typeof eventBody>[0]) {
  const event = JSON.parse(eventBody(fields));
  events.set(event);
  return { event, notification: JSON.stringify(createEventNotification(event)) };
}

/** A notification whose event Stripe has only in API v2. */
function notifyOf(object: { id: string }) {
  const common = { id: `evt_of_${object.id}`, type: 'customer.subscription.updated' };
  const event = { ...common, created: Math.floor(Date.now() / 1_000), data: { object } };
  const inApi = { ...event, snapshot_event: null };
  events.set(inApi);
  return { notification: JSON.stringify(createEventNotification(event)) };
}

const eventCalls = () => calls.filter((path) => path.includes('/events/'));

describe('a notification without the event (thin payload)', () => {
  test.each([
    ['customer.subscription.updated', 'trialing'],
    ['customer.subscription.deleted', 'canceled'],
  ])('of %s: the event is retrieved and applied', async (type, status) => {
    const { teamId, customerId } = await service.addTeam();
    const { event, notification } = announce({ customerId, type, status });
    const response = await service.postSigned(notification);
    expect(response.status).toBe(200);
    expect(await undescribed('POST /api/stripe/webhook', response)).toBeNull();
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: status });
    expect(
      await service.database.query(
        'select event_id, deliveries, outcome from instep.events where customer_id = $1',
        [customerId],
      ),
    ).toEqual([{ event_id: event.id, deliveries: 1, outcome: 'applied' }]);
  });

  test('sent again, or together with the event itself, is a duplicate', async () => {
    const { customerId } = await service.addTeam();
    const { event, notification } = announce({ customerId });
    for (const body of [notification, JSON.stringify(event), notification]) {
      expect((await service.postSigned(body)).status).toBe(200);
    }
    const rows = await service.database.query(
      'select deliveries, outcome from instep.events where customer_id = $1',
      [customerId],
    );
    expect(rows).toEqual([{ deliveries: 3, outcome: 'applied' }]);
  });

  test('with a forged signature is refused, and nothing is retrieved', async () => {
    const { customerId } = await service.addTeam();
    const { notification } = announce({ customerId });
    const response = await service.postRaw(notification, { 'stripe-signature': 't=1,v1=00' });
    expect(response.status).toBe(400);
    expect(eventCalls()).toEqual([]);
  });

  test.each([
    ['the API is down', '/v2/', 503],
    ['the key is refused', '/v2/', 401],
    ['Stripe does not know it', '/v2/', 404],
    ['its event can’t be retrieved', '/v1/events/', 500],
  ])('gets a 503 while %s, and applied when it is sent again', async (_, path, status) => {
    const { teamId, customerId } = await service.addTeam();
    const { notification } = announce({ customerId });
    fault = (called) => (called.startsWith(path) ? { status } : undefined);
    const response = await service.postSigned(notification);
    expect(response.status).toBe(503);
    expect(await undescribed('POST /api/stripe/webhook', response)).toBeNull();
    const { id } = JSON.parse(notification);
    expect(await service.process.logged({ msg: 'request failed', eventId: id })).toMatchObject({
      type: 'v1.customer.subscription.updated',
      err: { code: 'STRIPE_API_FAILED' },
    });
    fault = undefined;
    expect((await service.postSigned(notification)).status).toBe(200);
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  });

  test.each(['active', 'canceled'])(
    'that no event of the first API belongs to: the subscription is retrieved and applied (%s)',
    async (status) => {
      const { teamId, customerId } = await service.addTeam();
      const subscriptionId = `sub_of_${customerId}`;
      const { object } = JSON.parse(eventBody({ customerId, subscriptionId, status })).data;
      const { notification } = notifyOf(object);
      expect((await service.postSigned(notification)).status).toBe(503);
      subscriptions.set(object);
      expect((await service.postSigned(notification)).status).toBe(200);
      expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: status });
    },
  );

  test('that no event belongs to, of a customer without a team: an error names the customer', async () => {
    const { object } = JSON.parse(eventBody({ customerId: 'cus_of_nobody' })).data;
    subscriptions.set(object);
    const { notification } = notifyOf(object);
    expect((await service.postSigned(notification)).status).toBe(200);
    await service.process.logged({ msg: 'team not found', customerId: 'cus_of_nobody' });
  });

  test('of another type gets a 200 and is ignored', async () => {
    const { notification } = announce({ type: 'invoice.paid' });
    expect((await service.postSigned(notification)).status).toBe(200);
    expect(eventCalls()).toEqual([]);
  });

  test('without an id is unreadable', async () => {
    const body = JSON.stringify({
      object: 'v2.core.event',
      type: 'v1.customer.subscription.updated',
    });
    expect((await service.postSigned(body)).status).toBe(200);
    expect(eventCalls()).toEqual([]);
  });
});
