/** The parts of an event that its notification uses. */
export type AnnouncedEvent = {
  readonly id: string;
  readonly type?: unknown;
  /** In whole seconds since 1970. */
  readonly created?: number;
  readonly data?: unknown;
};

export type EventNotification = ReturnType<typeof createEventNotification>;

const ID_PREFIX = 'evt_notification_';

/**
 * Creates the notification that Stripe sends to an event destination with thin payload in place of an event.
 * Instep retrieves the event from Stripe's API: add it to `events` of the stand-in.
 *
 * @example
 * ```ts
 * import { createEventNotification, createSubscriptionEvent } from 'instep/testing';
 *
 * const event = createSubscriptionEvent({ customerId: 'cus_1' });
 * console.log(createEventNotification(event).type); // v1.customer.subscription.updated
 * ```
 */
export function createEventNotification({ id, type, created = 0, data }: AnnouncedEvent) {
  return {
    id: ID_PREFIX + id,
    object: 'v2.core.event',
    context: null,
    created: new Date(created * 1_000).toISOString(),
    livemode: false,
    reason: null,
    related_object: relatedObject(data),
    type: `v1.${type}`,
  };
}

/** The id of the event that a notification announces. */
export function announcedEventId(notificationId: string): string {
  return notificationId.replace(ID_PREFIX, '');
}

function relatedObject(data: unknown) {
  const object = memberOf(data, 'object');
  const id = String(memberOf(object, 'id'));
  return { id, type: 'subscription', url: `/v1/subscriptions/${id}` };
}

function memberOf(value: unknown, name: string): unknown {
  return new Map(Object.entries(Object(value))).get(name);
}
