import type { Json } from '../core/json.ts';
import type { SubscriptionChange } from '../core/subscription-event.ts';
import { eventKey } from './event-key.ts';
import { SNAPSHOT_TYPE } from './handled-event-type.ts';
import { parseChange } from './parse-event.ts';

/**
 * A subscription as Stripe's API returned it. It goes through the ingest pipeline and is logged like an
 * event. It decides an ambiguous order, or corrects a state that differs from Stripe's.
 */
export type SnapshotEvent = SubscriptionChange & {
  readonly kind: 'snapshot';
  readonly eventId: null;
  readonly type: typeof SNAPSHOT_TYPE;
};

type SubscriptionSnapshot = { readonly event: SnapshotEvent; readonly body: Uint8Array };

type SnapshotOptions = Pick<SubscriptionChange, 'observedKeys'> & {
  /** The second whose end the snapshot shows, by Stripe's clock. */
  readonly createdSeconds: number;
  readonly takenAtMs: number;
  readonly nonce: () => string;
};

/** Creates a snapshot from a subscription of Stripe's API; `null` when it can't be read. */
export function makeSnapshot(
  subscription: Json,
  { createdSeconds, observedKeys, takenAtMs, nonce }: SnapshotOptions,
): SubscriptionSnapshot | null {
  const type = SNAPSHOT_TYPE;
  const data = { object: subscription };
  const observed = observedKeys && { observed_keys: [...observedKeys] };
  const text = JSON.stringify({ type, created: createdSeconds, data, ...observed });
  const change = parseChange(text, takenAtMs);
  if (change === null) return null;
  const { subscriptionId } = change.subscription;
  const key = eventKey({ eventId: null, type, createdSeconds, subscriptionId, data }, nonce);
  return {
    event: { ...change, kind: 'snapshot', key, eventId: null, type },
    body: Buffer.from(text),
  };
}
