import * as v from 'valibot';
import type { Json, JsonObject } from '../core/json.ts';

const metadata = v.optional(v.nullable(v.record(v.string(), v.string())), null);

const sessionShape = v.object({
  status: v.literal('complete'),
  mode: v.literal('subscription'),
  customer: v.string(),
  client_reference_id: v.optional(v.nullable(v.string()), null),
  metadata,
  subscription: v.object({ metadata }),
});

/** A checkout that is complete, and has begun a subscription. */
export type CompleteCheckout = {
  readonly customerId: string;
  readonly clientReferenceId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The subscription as Stripe returned it. */
  readonly subscription: Json;
  readonly subscriptionMetadata: Readonly<Record<string, string>>;
};

/** Reads a Checkout Session with its subscription; `null` if it is not complete or began no subscription. */
export function readCheckoutSession(session: JsonObject): CompleteCheckout | null {
  const parsed = v.safeParse(sessionShape, session);
  if (!parsed.success) return null;
  const { customer, client_reference_id, metadata, subscription } = parsed.output;
  return {
    customerId: customer,
    clientReferenceId: client_reference_id,
    metadata: metadata ?? {},
    subscription: session.subscription ?? null,
    subscriptionMetadata: subscription.metadata ?? {},
  };
}
