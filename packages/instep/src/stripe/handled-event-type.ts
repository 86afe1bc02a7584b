export const DELETED_TYPE = 'customer.subscription.deleted';

/** The two event types that the contract names. */
export const HANDLED_TYPES = ['customer.subscription.updated', DELETED_TYPE] as const;

export type HandledType = (typeof HANDLED_TYPES)[number];

export function isHandledType(type: string): type is HandledType {
  return (HANDLED_TYPES as readonly string[]).includes(type);
}

/** The types of notifications, which an event destination with thin payload receives. */
export const NOTIFICATION_TYPES = HANDLED_TYPES.map((type) => `v1.${type}` as const);

export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

export function isNotificationType(type: string): type is NotificationType {
  return (NOTIFICATION_TYPES as readonly string[]).includes(type);
}

/** The type of a subscription snapshot in the log. */
export const SNAPSHOT_TYPE = 'instep.subscription_snapshot';

export const LOGGED_TYPES: readonly string[] = [...HANDLED_TYPES, SNAPSHOT_TYPE];
