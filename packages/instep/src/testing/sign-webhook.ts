import { createHmac } from 'node:crypto';

/**
 * Signs a webhook body as Stripe does: returns the value of the header `stripe-signature`.
 *
 * @example
 * ```ts
 * import { signWebhook } from 'instep/testing';
 *
 * const header = signWebhook('{"type":"invoice.paid"}', 'whsec_example', 1_767_225_600_000);
 * console.log(header); // t=1767225600,v1=…
 * ```
 */
export function signWebhook(body: string, secret: string, atMs: number): string {
  const timestamp = Math.floor(atMs / 1_000);
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return `t=${timestamp},v1=${signature}`;
}

/** The options with which `fetch` delivers an event. */
export type SignedRequest = {
  readonly method: 'POST';
  readonly headers: { readonly 'content-type': string; readonly 'stripe-signature': string };
  readonly body: string;
};

/**
 * Signs an event for delivery. The result is the second argument of `fetch` and of `new Request`.
 *
 * @example
 * ```ts
 * import { createSubscriptionEvent, signedRequest } from 'instep/testing';
 *
 * const event = createSubscriptionEvent({ customerId: 'cus_1' });
 * const url = 'http://127.0.0.1:3000/api/stripe/webhook';
 * const request = new Request(url, signedRequest(event, 'whsec_example'));
 * console.log(request.headers.has('stripe-signature')); // true
 * ```
 */
export function signedRequest(
  event: object,
  secret: string,
  now: () => number = Date.now,
): SignedRequest {
  const body = JSON.stringify(event);
  const signature = signWebhook(body, secret, now());
  const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
  return { method: 'POST', headers, body };
}
