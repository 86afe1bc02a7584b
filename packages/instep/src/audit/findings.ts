// What is wrong with the rows of any table, by what Stripe lists of their customers. Which subscriptions count is the rule's.

import { type Listing, ReconciliationFailed } from 'instep-engine/repair';
import { bestOf, ENDED_STATUSES, effectOf, isCharged } from 'instep-engine/rule';
import { counted } from 'instep-engine/runtime';
import { countedAs, NAMES, type Row, type TableOptions } from './audited-table.ts';

/** What can be wrong with one row, or with several. A row has the first that fits. */
export const SENTENCES = {
  ended: '(has|have) a plan, but Stripe has ended (its|their) subscription',
  missing: '(pays|pay) Stripe, and (has|have) no plan',
  other_plan: '(has|have) another plan than (it pays|they pay) for',
  other_status: '(has|have) another status than at Stripe',
  other_subscription: '(has|have) another subscription than (it pays|they pay) for',
  charged_twice: '(is|are) charged twice',
  unknown_customer: '(customer|customers) that Stripe does not know',
  not_in_table: '(customer who pays is|customers who pay are) in no row',
};

/** `own_plan`: nothing is wrong, but nothing at Stripe has given the plan, or ended it. */
export type Code = keyof typeof SENTENCES | 'own_plan';

/** A subscription in Stripe's list. */
type Listed = { readonly [Name in 'subscription' | 'status']: string } & {
  readonly [Name in 'product' | 'price']: string | null;
};

type Difference = Readonly<Record<string, string | null>>;

/** The values of a difference: what the row has, and the best subscription of its customer. */
export const HEADINGS = [
  ...['code', 'id', ...NAMES],
  ...['stripe_status', 'stripe_product', 'stripe_price', 'stripe_subscription'],
];

export type Rules = Pick<TableOptions, 'pastDue'> & {
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  /** How many rows with each code are kept. */
  readonly limit: number;
};

export class Findings {
  /** Also what names of plans were found to mean. */
  plans: Rules['plans'];
  subscriptions = 0;
  /** Whether Stripe knows the customer of a row. */
  isAnyKnown = false;
  /** How many rows have each code, and those that are kept. */
  readonly found = new Map<Code, { count: number; rows: Difference[] }>();
  readonly #rules: Rules;
  /** By customer, as JSON, which takes half the memory: an account can have 100,000. */
  readonly #listed = new Map<string, string>();

  constructor(rules: Rules) {
    this.#rules = rules;
    this.plans = rules.plans;
  }

  /** Adds a page of Stripe's list, or what it lists of one customer. @throws ReconciliationFailed */
  add({ subscriptions, unreadable }: Listing): void {
    if (unreadable > 0) {
      const message = `${counted(unreadable, 'subscription')} could not be read: upgrade Instep`;
      throw new ReconciliationFailed('RECONCILIATION_FAILED', message);
    }
    for (const { customerId, subscriptionId, status, productId, priceId } of subscriptions) {
      const one = { subscription: subscriptionId, status, product: productId, price: priceId };
      const text = JSON.stringify(one satisfies Listed);
      const others = this.#listed.get(customerId);
      this.#listed.set(customerId, others === undefined ? text : `${others},${text}`);
    }
    this.subscriptions += subscriptions.length;
  }

  customers(): Set<string> {
    return new Set(this.#listed.keys());
  }

  listedOf(customer: string): readonly Listed[] {
    const listed: Listed[] = JSON.parse(`[${this.#listed.get(customer) ?? ''}]`);
    // A page can repeat one of the page before.
    return [...new Map(listed.map((one) => [one.subscription, one])).values()];
  }

  /** The best of a customer's subscriptions that give a plan, several if they are equally good. */
  paidBy(customer: string): readonly Listed[] {
    const { pastDue } = this.#rules;
    return bestOf(this.listedOf(customer), ({ status }) => countedAs(status, pastDue));
  }

  /** Reads what names of plans mean, unless it is declared: the product for which most rows with the name pay. */
  async readPlans(rows: AsyncIterable<Row>): Promise<void> {
    const counts = new Map<string, number>();
    for await (const { customer, plan, product, price } of rows) {
      if (plan === null || (product ?? price) !== null) continue;
      const [paid] = this.paidBy(customer);
      if (!paid?.product) continue;
      const meaning = JSON.stringify([plan, [paid.product]]);
      counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
    }
    // A map has the last one of each name.
    const meanings = [...counts].sort(([, rows], [, others]) => rows - others);
    const read = meanings.map(([meaning]) => JSON.parse(meaning));
    this.plans = new Map([...read, ...this.#rules.plans]);
  }

  /** Whether the row says that its customer has a plan. */
  claimsPlan({ plan, hasPlan }: Row): boolean {
    return hasPlan && this.plans.get(plan ?? '')?.length !== 0;
  }

  /** Counts a row, or a customer without one. */
  report(code: Code, row: Partial<Row> & { readonly customer: string }): void {
    const { rows = [], count = 0 } = this.found.get(code) ?? {};
    this.found.set(code, { count: count + 1, rows });
    if (code === 'own_plan' || count >= this.#rules.limit) return;
    const [stripe = this.listedOf(row.customer)[0]] = this.paidBy(row.customer);
    const atStripe = [stripe?.status, stripe?.product, stripe?.price, stripe?.subscription];
    const values = [code, row.id, ...NAMES.map((name) => row[name]), ...atStripe];
    rows.push(Object.fromEntries(HEADINGS.map((name, index) => [name, values[index] ?? null])));
  }

  judge(row: Row, isKnown: boolean): void {
    this.isAnyKnown ||= isKnown;
    const code = isKnown ? this.#codeOf(row) : 'unknown_customer';
    if (code !== null) this.report(code, row);
  }

  #codeOf(row: Row): Code | null {
    const listed = this.listedOf(row.customer);
    const paid = this.paidBy(row.customer);
    const statuses = listed.map(({ status }) => countedAs(status, this.#rules.pastDue));
    if (!this.claimsPlan(row)) {
      // Beside a row with the plan, one of another subscription is a record of what has ended.
      const isPaid = paid.some(({ subscription }) => subscription === row.subscription);
      const isRecord = row.isBesidePlan && row.subscription !== null && !isPaid;
      return paid.length > 0 && !isRecord ? 'missing' : null;
    }
    if (paid.length === 0) {
      if (listed.length === 0 || row.lacksSubscription) return 'own_plan';
      return statuses.some(hasEnded) && !statuses.includes('paused') ? 'ended' : null;
    }
    // No list says which of those that are as good came last, so one of them must be all that the row says.
    const products = row.product ?? (row.price === null ? this.plans.get(row.plan ?? '') : null);
    const withPlan = paid.filter(
      (one) => isSaid(products, one.product) && isSaid(row.price, one.price),
    );
    if (withPlan.length === 0) return 'other_plan';
    // While a payment is due, the row keeps the status that it had before.
    const withStatus = withPlan.filter(
      ({ status }) => status === 'past_due' || isSaid(row.saidStatus, status),
    );
    if (withStatus.length === 0) return 'other_status';
    if (!withStatus.some((one) => isSaid(row.subscription, one.subscription)))
      return 'other_subscription';
    return statuses.filter(isCharged).length > 1 ? 'charged_twice' : null;
  }
}

const hasEnded = (status: string) =>
  ENDED_STATUSES.includes(status) || effectOf(status) === 'clears';

/** Whether a row says this of a subscription, or nothing. */
const isSaid = (said: string | readonly string[] | null | undefined, is: string | null) =>
  said == null || [said].flat().some((one) => one === is);
