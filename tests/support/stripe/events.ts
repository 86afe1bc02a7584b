import type { ApplicationId } from 'instep';
import {
  createSubscriptionEvent,
  type SubscriptionEventFields,
} from 'instep/src/testing/stripe-objects.ts';
import type { LogEvent } from 'instep-engine/src/log/log-event.ts';
import { parseEvent } from 'instep-engine/src/stripe/parse-event.ts';
import { MEMBERS } from '../secrets/test-secrets.ts';

let count = 0;

/** The body of an event as Stripe sends it, with defaults for what the test does not set. */
export function eventBody(fields: Partial<SubscriptionEventFields> = {}): string {
  count += 1;
  const event = createSubscriptionEvent({
    eventId: `evt_${count}`,
    type: 'customer.subscription.updated',
    createdSeconds: 1_700_000_000 + count,
    customerId: 'cus_1',
    subscriptionId: 'sub_1',
    status: 'active',
    productId: 'prod_1',
    ...fields,
  });
  Object.assign(event.data.object, MEMBERS);
  return JSON.stringify(event);
}

/** A body as the ingest pipeline receives it. */
export function received(body: string, receivedAtMs = 1_700_000_000_000): LogEvent {
  count += 1;
  const event = parseEvent(body, { receivedAtMs, nonce: () => `nonce_${count}` });
  if (event.kind === 'readable' || event.kind === 'unreadable') {
    return { ...event, body: Buffer.from(body), receivedAtMs, source: 'delivery' };
  }
  throw new RangeError(`the ingest pipeline does not accept an event of kind ${event.kind}`);
}

/** An event as the ingest pipeline receives it. */
export function receivedEvent(fields: Partial<SubscriptionEventFields> = {}): LogEvent {
  return received(eventBody(fields));
}

/** The event of a payment an hour ago, by a customer that may have no team. Its metadata can name one. */
export function waitingEvent(customerId: string, teamId?: ApplicationId): LogEvent {
  const receivedAtMs = Date.now() - 3_600_000;
  const createdSeconds = Math.floor(receivedAtMs / 1_000);
  const ids = { customerId, subscriptionId: `sub_${customerId}`, productId: 'prod_pro' };
  const event = JSON.parse(eventBody({ ...ids, createdSeconds }));
  if (teamId !== undefined) event.data.object.metadata = { teamId: String(teamId) };
  return received(JSON.stringify(event), receivedAtMs);
}
