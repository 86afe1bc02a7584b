/** What the provider sells. */
export type Product = { readonly id: string; readonly name: string; readonly cents: number };

export const PRODUCTS: readonly Product[] = [
  { id: 'prod_base', name: 'Base', cents: 800 },
  { id: 'prod_plus', name: 'Plus', cents: 1_200 },
  { id: 'prod_team', name: 'Team ☂', cents: 4_900 },
];

export type Status =
  | 'incomplete'
  | 'incomplete_expired'
  | 'trialing'
  | 'active'
  | 'past_due'
  | 'unpaid'
  | 'paused'
  | 'canceled';

/** A subscription as the provider has it, whatever the API version that shows it. */
export type Subscription = {
  readonly id: string;
  readonly customerId: string;
  readonly status: Status;
  readonly product: Product;
  readonly quantity: number;
  /** How many invoices there were; the newest one is `latest_invoice`. */
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
export type Moment = {
  /** Its place in the true order of all changes of the customer. */
  readonly number: number;
  readonly atMs: number;
  /** The subscription after it. */
  readonly subscription: Subscription;
  /** Told by `customer.subscription.deleted`, which names no previous attributes. */
  readonly isDeletion: boolean;
};

/** All that one customer lived, in the true order. */
export type CustomerLife = {
  readonly customerId: string;
  /** How each subscription began: the endpoint hears nothing of that. */
  readonly begun: ReadonlyMap<string, Subscription>;
  readonly moments: readonly Moment[];
};

const TERMINAL: readonly Status[] = ['canceled', 'incomplete_expired'];

/** Whether nothing can happen to a subscription any more. */
export function isOver({ status }: Subscription): boolean {
  return TERMINAL.includes(status);
}
