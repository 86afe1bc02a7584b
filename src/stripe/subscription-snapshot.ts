import type { Json } from '../core/json.ts';
import type { SubscriptionChange } from '../core/subscription-event.ts';
import { eventKey } from './event-key.ts';
import { SNAPSHOT_TYPE } from './handled-event-type.ts';
import { parseChange } from './parse-event.ts';

/**
 * What Stripe's API says of a subscription whose events within one second left their order open, or
 * that is not as we know it. It goes through the one door like an event, and stands in the log like
 * one.
 */
export type SnapshotEvent = SubscriptionChange & {
  readonly kind: 'snapshot';
  readonly key: string;
  readonly eventId: null;
  readonly type: typeof SNAPSHOT_TYPE;
  readonly observedKeys: ObservedKeys;
};

/**
 * The keys of the second's events when the look was taken: if there are others, or nobody asks any
 * more, it is void. `null` for one that holds all that happened in its second: only a newer second
 * overtakes it.
 */
export type ObservedKeys = ReadonlySet<string> | null;

export type SubscriptionSnapshot = { readonly event: SnapshotEvent; readonly body: Uint8Array };

export type SnapshotOptions = {
  /** The second of which it tells, by the provider's clock. */
  readonly createdSeconds: number;
  readonly observedKeys: ObservedKeys;
  readonly takenAtMs: number;
  readonly nonce: () => string;
};

/** Makes a look from a subscription as the API returned it; `null` when it cannot be read. */
export function makeSnapshot(
  subscription: Json,
  options: SnapshotOptions,
): SubscriptionSnapshot | null {
  const { createdSeconds, observedKeys, takenAtMs, nonce } = options;
  const data = { object: subscription };
  const text = JSON.stringify({ type: SNAPSHOT_TYPE, created: createdSeconds, data });
  const change = parseChange(text, takenAtMs);
  if (change === null) return null;
  const { subscriptionId } = change.subscription;
  const identity = { eventId: null, type: SNAPSHOT_TYPE, createdSeconds, subscriptionId, data };
  return {
    event: {
      ...change,
      isSnapshot: true,
      kind: 'snapshot',
      key: eventKey(identity, nonce),
      eventId: null,
      type: SNAPSHOT_TYPE,
      observedKeys,
    },
    body: Buffer.from(text),
  };
}
