import Stripe from 'stripe';

/** The `stripe-signature` header that Stripe would send with this body at this time. */
export function signWebhook(body: string, secret: string, nowMs: number): string {
  const timestamp = Math.floor(nowMs / 1_000);
  return Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
}
