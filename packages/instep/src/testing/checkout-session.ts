/** The content of the Checkout Session. Only the customer is required. */
export type CheckoutSessionFields = {
  readonly customerId: string;
  /** Default: the one that `createSubscriptionEvent` gives this customer, such as `sub_1` of `cus_1`. */
  readonly subscriptionId?: string | undefined;
  /** Default: one for each customer, such as `cs_1` of `cus_1`. */
  readonly id?: string | undefined;
  /** Default: `complete`. */
  readonly status?: 'open' | 'complete' | 'expired' | undefined;
  /** Default: `subscription`. */
  readonly mode?: 'subscription' | 'payment' | 'setup' | undefined;
  readonly clientReferenceId?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
};

export type CheckoutSession = ReturnType<typeof createCheckoutSession>;

/**
 * Creates a Checkout Session as Stripe's API returns it. Add it to `checkoutSessions` of the stand-in, and its
 * subscription to `subscriptions`.
 *
 * @example
 * ```ts
 * import { createCheckoutSession } from 'instep/testing';
 *
 * const session = createCheckoutSession({ customerId: 'cus_1', metadata: { teamId: '7' } });
 * console.log(session.id, session.subscription); // cs_1 sub_1
 * ```
 */
export function createCheckoutSession(
  { customerId, mode = 'subscription', status = 'complete', ...fields }: CheckoutSessionFields,
  now: () => number = Date.now,
) {
  const idAs = (prefix: string) => customerId.replace(/^(?:cus_)?/, prefix);
  const isComplete = status === 'complete';
  const subscription = fields.subscriptionId ?? idAs('sub_');
  return {
    id: fields.id ?? idAs('cs_'),
    object: 'checkout.session',
    client_reference_id: fields.clientReferenceId ?? null,
    created: Math.floor(now() / 1_000),
    customer: customerId,
    livemode: false,
    metadata: fields.metadata ?? {},
    mode,
    payment_status: isComplete ? 'paid' : 'unpaid',
    status,
    subscription: isComplete && mode === 'subscription' ? subscription : null,
  };
}
