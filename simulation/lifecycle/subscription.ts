type Product = { readonly id: string; readonly name: string; readonly cents: number };

export const PRODUCTS: readonly Product[] = [
  { id: 'prod_base', name: 'Base', cents: 800 },
  { id: 'prod_plus', name: 'Plus', cents: 1_200 },
  { id: 'prod_team', name: 'Team ☂', cents: 4_900 },
];

export const STATUSES = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
  'canceled',
] as const;

export type Status = (typeof STATUSES)[number];

/** A subscription at the simulated Stripe, independent of any API version. */
export type Subscription = {
  readonly id: string;
  readonly customerId: string;
  readonly status: Status;
  readonly product: Product;
  readonly quantity: number;
  /** The number of invoices; the newest one is `latest_invoice`. */
  readonly invoices: number;
  readonly paymentMethods: number;
  readonly startedAtSeconds: number;
  readonly periodStartSeconds: number;
  readonly periodEndSeconds: number;
  readonly trialEndSeconds: number | null;
  readonly cancelsAtPeriodEnd: boolean;
  readonly isCollectionPaused: boolean;
  readonly endedAtSeconds: number | null;
};

/** A change of a subscription: one event. */
export type LifecycleChange = {
  /** Its position in the true order of the customer's changes. */
  readonly number: number;
  readonly atMs: number;
  /** The subscription after the change. */
  readonly subscription: Subscription;
};

/** All changes of one customer's subscriptions, in the true order. */
export type CustomerLifecycle = {
  readonly customerId: string;
  /** Each subscription as it was created, by id. The endpoint gets no event for that. */
  readonly initialStates: ReadonlyMap<string, Subscription>;
  readonly changes: readonly LifecycleChange[];
};

/** Whether a subscription with this status has ended. */
export function hasEnded(status: unknown): boolean {
  return status === 'canceled' || status === 'incomplete_expired';
}
