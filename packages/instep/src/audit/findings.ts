// What is wrong with the rows of any table: the engine's comparison of a team with Stripe's list, where no log tells more.

import { compare, type Listing, ReconciliationFailed } from 'instep-engine/repair';
import { bestOf, ENDED_STATUSES, isCharged, type Json, NO_STATE } from 'instep-engine/rule';
import { counted } from 'instep-engine/runtime';
import { type ListedSubscription, parseListedSubscription } from 'instep-engine/stripe';

/** What is compared, by the name of its option, and the field of a team that it is. A null says nothing. */
export const FIELDS = {
  customer: 'providerCustomerId',
  plan: 'planName',
  status: 'subscriptionStatus',
  product: 'providerProductId',
  price: 'priceId',
  subscription: 'providerSubscriptionId',
} as const;

export const NAMES = Object.keys(FIELDS) as (keyof typeof FIELDS)[];

export type Row = { readonly [Name in 'id' | keyof typeof FIELDS]: string | null } & {
  readonly customer: string;
  /** Whether it says that its customer has a plan. */
  readonly hasPlan: boolean;
  /** Whether a row of its customer does. */
  readonly isBesidePlan: boolean;
};

export type Rules = {
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  /** Whether a row has a status, and the table a column for subscriptions: what is null there then says something. */
  readonly hasStatuses: boolean;
  readonly hasSubscriptions: boolean;
  /** How many rows with each code are kept. */
  readonly limit: number;
};

/** What a plan that differs is called: by the first of these fields that does. */
const DIFFERENCES = [
  ['providerProductId', 'other_plan'],
  ['priceId', 'other_plan'],
  ['subscriptionStatus', 'other_status'],
  ['providerSubscriptionId', 'other_subscription'],
] as const;

/** A list does not say which event came last, and names are compared by what they mean. */
const COMPARE_RULES = {
  planSelection: 'best',
  names: new Map<string, string>(),
  nowMs: 0,
} as const;

/** What is wrong with a row; `own_plan`: nothing, but nothing at Stripe has given its plan either, or ended it. */
export type Code =
  | (typeof DIFFERENCES)[number][1]
  | 'ended'
  | 'missing'
  | 'charged_twice'
  | 'unknown_customer'
  | 'not_in_table'
  | 'own_plan';

/** The values of a difference: what the row has, and the subscription that decides at Stripe. */
export const HEADINGS = [
  ...['code', 'id', ...NAMES],
  ...['stripe_status', 'stripe_product', 'stripe_price', 'stripe_subscription'],
];

export class Findings {
  /** Also what names of plans were found to mean. */
  rules: Rules;
  /** The names of the products that plans mean. */
  readonly productNames = new Map<string, string | null>();
  subscriptions = 0;
  /** Whether Stripe knows the customer of a row. */
  isAnyKnown = false;
  /** How many rows have each code, and those that are kept. */
  readonly found = new Map<Code, { count: number; rows: (string | null)[][] }>();

  /** By customer, as JSON, which takes half the memory: an account can have 100,000. */
  readonly #listed = new Map<string, string>();

  constructor(rules: Rules) {
    this.rules = rules;
  }

  /** Adds a page of Stripe's list, or what it lists of one customer. @throws ReconciliationFailed */
  add({ subscriptions, unreadable }: Listing): void {
    if (unreadable > 0) {
      const message = `${counted(unreadable, 'subscription')} could not be read: upgrade Instep`;
      throw new ReconciliationFailed('RECONCILIATION_FAILED', message);
    }
    for (const { customerId, subscriptionId, status, productId, priceId } of subscriptions) {
      const text = JSON.stringify([subscriptionId, status, productId, priceId]);
      const others = this.#listed.get(customerId);
      this.#listed.set(customerId, others === undefined ? text : `${others},${text}`);
    }
    this.subscriptions += subscriptions.length;
  }

  isListed(customer: string): boolean {
    return this.#listed.has(customer);
  }

  customers(): Iterable<string> {
    return this.#listed.keys();
  }

  listedOf(customer: string): readonly ListedSubscription[] {
    const listed: Json[][] = JSON.parse(`[${this.#listed.get(customer) ?? ''}]`);
    const subscriptions = listed.flatMap(([id = null, status = null, product, price]) => {
      const items = { data: [{ price: { id: price ?? null, product: product ?? null } }] };
      return parseListedSubscription({ id, customer, status, items }, 0) ?? [];
    });
    // A page can repeat one of the page before.
    return [...new Map(subscriptions.map((one) => [one.subscriptionId, one])).values()];
  }

  /** The best of a customer's subscriptions that give a plan, several if they are equally good. */
  paidIn(listed: readonly ListedSubscription[]): readonly ListedSubscription[] {
    return bestOf(listed, ({ status }) => this.#counted(status));
  }

  /** While a payment is due, a subscription counts as paid, or as one that will not be paid any more. */
  #counted(status: string): string {
    if (status === 'past_due') return this.rules.pastDue === 'keep' ? 'active' : 'unpaid';
    return ENDED_STATUSES.includes(status) ? 'canceled' : status;
  }

  /** Reads what names of plans mean, unless it is declared: the product for which most rows with the name pay. */
  async readPlans(rows: AsyncIterable<Row>): Promise<void> {
    const counts = new Map<string, number>();
    for await (const { customer, plan, product, price } of rows) {
      if (plan === null || (product ?? price) !== null) continue;
      const [paid] = this.paidIn(this.listedOf(customer));
      if (!paid?.productId) continue;
      const meaning = JSON.stringify([plan, [paid.productId]]);
      counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
    }
    // A map has the last one of each name.
    const meanings = [...counts].sort(([, rows], [, others]) => rows - others);
    const read = meanings.map(([meaning]) => JSON.parse(meaning));
    this.rules = { ...this.rules, plans: new Map([...read, ...this.rules.plans]) };
  }

  /** Whether the row says that its customer has a plan. */
  claimsPlan({ plan, status, hasPlan }: Row): boolean {
    const isOver = status === 'past_due' && this.rules.pastDue === 'ended';
    return hasPlan && !isOver && this.rules.plans.get(plan ?? '')?.length !== 0;
  }

  judge(row: Row, isKnown: boolean): void {
    this.isAnyKnown ||= isKnown;
    const code = isKnown ? this.#codeOf(row) : 'unknown_customer';
    if (code !== null) this.report(code, row);
  }

  /** Counts a row, or a customer without one. */
  report(code: Code, row: Partial<Row> & { readonly customer: string }): void {
    const { rows = [], count = 0 } = this.found.get(code) ?? {};
    this.found.set(code, { count: count + 1, rows });
    if (code === 'own_plan' || count >= this.rules.limit) return;
    const listed = this.listedOf(row.customer);
    const [stripe = listed[0]] = this.paidIn(listed);
    const atStripe = [stripe?.status, stripe?.productId, stripe?.priceId, stripe?.subscriptionId];
    const values = [code, row.id, ...NAMES.map((name) => row[name]), ...atStripe];
    rows.push(values.map((value) => value ?? null));
  }

  /** What is wrong, the first that fits. */
  #codeOf(row: Row): Code | null {
    const { customer, subscription, isBesidePlan } = row;
    const listed = this.listedOf(customer);
    const paid = this.paidIn(listed);
    if (!this.claimsPlan(row)) {
      // Beside a row with the plan, one of another subscription is a record of what has ended.
      const isPaid = paid.some(({ subscriptionId }) => subscriptionId === subscription);
      const isRecord = isBesidePlan && subscription !== null && !isPaid;
      return paid.length > 0 && !isRecord ? 'missing' : null;
    }
    const statuses = listed.map(({ status }) => this.#counted(status));
    if (paid.length > 0) {
      // No list says which of those that are as good came last, so each will do.
      const places = paid.map((one) => this.#differenceFrom(row, one));
      const place = places.includes(-1) ? -1 : Math.max(...places);
      const isTwice = statuses.filter(isCharged).length > 1;
      return DIFFERENCES[place]?.[1] ?? (isTwice ? 'charged_twice' : null);
    }
    if (statuses.includes('paused')) return null;
    if (listed.length > 0 && this.#drift(row, listed) !== undefined) return 'ended';
    return subscription === null || listed.length === 0 ? 'own_plan' : null;
  }

  /** Which of the differences the row's plan has from that of a subscription; -1: none. */
  #differenceFrom(row: Row, paid: ListedSubscription): number {
    const drift = this.#drift(row, [paid]);
    if (drift === undefined) return -1;
    const { is, shouldBe } = drift;
    return DIFFERENCES.findIndex(([name]) => (is[name] ?? shouldBe[name]) !== shouldBe[name]);
  }

  /** Compares the row with subscriptions as the engine does, by product and price where it has them, or by the plan's name. */
  #drift({ customer, ...row }: Row, atStripe: readonly ListedSubscription[]) {
    const { plans, hasStatuses, hasSubscriptions } = this.rules;
    const [{ status, productId = null } = {}] = atStripe;
    const meant = (row.product ?? row.price) === null && plans.get(row.plan ?? '');
    const ownStatus = row.status ?? (hasStatuses ? 'none' : null);
    const plan = {
      planName: row.plan,
      // While a payment is due, the row keeps the status that it had before.
      subscriptionStatus: status === 'past_due' ? null : ownStatus,
      providerProductId:
        meant && !meant.includes(productId ?? '') ? (meant[0] ?? null) : row.product,
      priceId: row.price,
      ...(hasSubscriptions && { providerSubscriptionId: row.subscription }),
    };
    const listed = atStripe.map(({ object, ...one }) => {
      const status = this.#counted(one.status);
      return { ...one, status, object: { ...object, status } };
    });
    const compared = { teams: [{ id: 0, customerId: customer, plan }], state: NO_STATE, listed };
    return compare(compared, COMPARE_RULES).drifts[0];
  }
}
