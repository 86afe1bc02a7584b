import { createGet, type StripeApiOptions } from './api-call.ts';
import { StripeApiFailed } from './api-failure.ts';
import {
  type EventNotification,
  type ParseOptions,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from './parse-event.ts';

type NotifiedEvent = {
  readonly event: ReadableEvent | UnreadableEvent;
  readonly body: Uint8Array;
};

/**
 * Retrieves the event that a notification announces: it is the same event that an endpoint with snapshot
 * payload receives and that Stripe lists, so a duplicate is recognized.
 *
 * @throws DeadlineExceeded or StripeApiFailed
 */
export type RetrieveNotifiedEvent = (
  notification: EventNotification,
  receipt: ParseOptions,
) => Promise<NotifiedEvent>;

/** Short, because there are two calls while Stripe waits for the response. */
const TIMEOUT_MS = 2_000;

export function createEventRetrieval(options: StripeApiOptions): RetrieveNotifiedEvent {
  const get = createGet(options);
  return async ({ eventId, origin }, receipt) => {
    const common = { context: origin.account, timeoutMs: TIMEOUT_MS };
    const notified = await get({ ...common, path: '/v2/core/events/{id}', id: eventId });
    const { snapshot_event: id } = notified.body;
    if (typeof id !== 'string') {
      throw new StripeApiFailed('returned an event without snapshot_event', { status: 200 });
    }
    const { body } = await get({ ...common, path: '/v1/events/{id}', id });
    const text = JSON.stringify(body);
    const event = parseEvent(text, receipt);
    if (event.kind !== 'readable' && event.kind !== 'unreadable') {
      throw new StripeApiFailed('returned an event of another type', { status: 200 });
    }
    return { event, body: Buffer.from(text) };
  };
}
