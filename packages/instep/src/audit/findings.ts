// What is wrong with the rows of any table, by what Stripe lists of their customers. Which subscriptions count is the rule's.

import { type Listing, ReconciliationFailed } from 'instep-engine/repair';
import { bestOf, ENDED_STATUSES, effectOf, isCharged } from 'instep-engine/rule';
import { counted } from 'instep-engine/runtime';
import { type AuditedTable, type CustomerRows, NAMES, type Row } from './audited-table.ts';

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
type Listed = { readonly [Name in 'subscriptionId' | 'status']: string } & {
  readonly [Name in 'productId' | 'priceId']: string | null;
};

/** The values of a difference: what the row has, and the best subscription of its customer. */
export const HEADINGS = [
  ...['code', 'id', ...NAMES],
  ...['stripe_status', 'stripe_product', 'stripe_price', 'stripe_subscription'],
];

export class Findings {
  subscriptions = 0;
  /** Whether Stripe knows the customer of a row. */
  isAnyKnown = false;
  readonly counts = new Map<Code, number>();
  /** The first ones, at most as many as the limit. */
  readonly differences: Readonly<Record<string, string | null>>[] = [];
  readonly #table: AuditedTable;
  /** By customer, as JSON, which takes half the memory: an account can have 100,000. */
  readonly #listed = new Map<string, string>();

  constructor(table: AuditedTable) {
    this.#table = table;
  }

  /** Adds a page of Stripe's list, or what it lists of one customer. @throws ReconciliationFailed */
  add({ subscriptions, unreadable }: Listing): void {
    if (unreadable > 0) {
      const message = `${counted(unreadable, 'subscription')} could not be read: upgrade Instep`;
      throw new ReconciliationFailed('RECONCILIATION_FAILED', message);
    }
    for (const { customerId, subscriptionId, status, productId, priceId } of subscriptions) {
      const one: Listed = { subscriptionId, status, productId, priceId };
      const others = this.#listed.get(customerId);
      const text = JSON.stringify(one);
      this.#listed.set(customerId, others === undefined ? text : `${others},${text}`);
    }
    this.subscriptions += subscriptions.length;
  }

  customers(): Set<string> {
    return new Set(this.#listed.keys());
  }

  #listedOf(customer: string): readonly Listed[] {
    const listed: Listed[] = JSON.parse(`[${this.#listed.get(customer) ?? ''}]`);
    // A page can repeat one of the page before.
    return [...new Map(listed.map((one) => [one.subscriptionId, one])).values()];
  }

  /** The best of a customer's subscriptions that give a plan, several if they are equally good. */
  paidBy(customer: string): readonly Listed[] {
    return bestOf(this.#listedOf(customer), ({ status }) => this.#countedAs(status));
  }

  /** While a payment is due, a subscription counts as paid, or as one that will not be paid any more. */
  #countedAs(status: string): string {
    if (status !== 'past_due') return status;
    return this.#table.pastDue === 'keep' ? 'active' : 'unpaid';
  }

  /** Reads what names of plans mean, unless it is declared: the product for which most rows with the name pay. */
  async readPlans(customers: AsyncIterable<CustomerRows>): Promise<AuditedTable['plans']> {
    const counts = new Map<string, number>();
    for await (const { customer, rows } of customers) {
      const paidProduct = this.paidBy(customer)[0]?.productId;
      if (!paidProduct) continue;
      for (const { plan, product, price } of rows) {
        if (plan === null || (product ?? price) !== null) continue;
        const meaning = JSON.stringify([plan, [paidProduct]]);
        counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
      }
    }
    // A map has the last one of each name.
    const meanings = [...counts].sort(([, rows], [, others]) => rows - others);
    const read = meanings.map(([meaning]) => JSON.parse(meaning));
    return new Map([...read, ...this.#table.plans]);
  }

  /** Whether the row says that its customer has a plan. */
  claimsPlan({ plan, status, product, price, subscription, isOver }: Row): boolean {
    const { hasPlans, plans } = this.#table;
    // Without a status, apps look at the end of the period.
    const isLive = status === null ? !isOver : isCharged(this.#countedAs(status));
    const said = hasPlans ? (plan ?? product ?? price) : (status ?? subscription);
    return isLive && said !== null && plans.get(plan ?? '')?.length !== 0;
  }

  /** Counts a row, or a customer without one. */
  report(code: Code, row: Partial<Row> & { readonly customer: string }): void {
    this.counts.set(code, (this.counts.get(code) ?? 0) + 1);
    if (code === 'own_plan' || this.differences.length >= this.#table.limit) return;
    const [best] = [...this.paidBy(row.customer), ...this.#listedOf(row.customer)];
    const atStripe = [best?.status, best?.productId, best?.priceId, best?.subscriptionId];
    const values = [code, row.id, ...NAMES.map((name) => row[name]), ...atStripe];
    const named = HEADINGS.map((name, index) => [name, values[index] ?? null]);
    this.differences.push(Object.fromEntries(named));
  }

  /** Judges rows of one customer. */
  judge(rows: readonly Row[], isKnown: boolean, plans: AuditedTable['plans']): void {
    this.isAnyKnown ||= isKnown;
    const isBesidePlan = rows.some((row) => this.claimsPlan(row));
    for (const row of rows) {
      const code = isKnown ? this.#codeOf(row, isBesidePlan, plans) : 'unknown_customer';
      if (code !== null) this.report(code, row);
    }
  }

  /** `isBesidePlan`: one of the customer's rows says that it has a plan. */
  #codeOf(row: Row, isBesidePlan: boolean, plans: AuditedTable['plans']): Code | null {
    const listed = this.#listedOf(row.customer);
    const paid = this.paidBy(row.customer);
    const statuses = listed.map(({ status }) => this.#countedAs(status));
    if (!this.claimsPlan(row)) {
      // Beside a row with the plan, one of another subscription is a record of what has ended.
      const isPaid = paid.some(({ subscriptionId }) => subscriptionId === row.subscription);
      const isRecord = isBesidePlan && row.subscription !== null && !isPaid;
      return paid.length > 0 && !isRecord ? 'missing' : null;
    }
    const { hasStatuses, hasSubscriptions } = this.#table;
    if (paid.length === 0) {
      const isUnsubscribed = hasSubscriptions && row.subscription === null;
      if (listed.length === 0 || isUnsubscribed) return 'own_plan';
      return statuses.some(hasEnded) && !statuses.includes('paused') ? 'ended' : null;
    }
    // No list says which of those that are as good came last, so one of them must be all that the row says.
    const products = row.product ?? (row.price === null ? plans.get(row.plan ?? '') : null);
    const withPlan = paid.filter(
      (one) => isSaid(products, one.productId) && isSaid(row.price, one.priceId),
    );
    if (withPlan.length === 0) return 'other_plan';
    // While a payment is due, the row keeps the status that it had before.
    const said = row.status ?? (hasStatuses ? 'none' : null);
    const withStatus = withPlan.filter(
      ({ status }) => status === 'past_due' || isSaid(said, status),
    );
    if (withStatus.length === 0) return 'other_status';
    if (!withStatus.some((one) => isSaid(row.subscription, one.subscriptionId)))
      return 'other_subscription';
    return statuses.filter(isCharged).length > 1 ? 'charged_twice' : null;
  }
}

const hasEnded = (status: string) =>
  ENDED_STATUSES.includes(status) || effectOf(status) === 'clears';

/** Whether a row says this of a subscription, or nothing. */
const isSaid = (said: string | readonly string[] | null | undefined, is: string | null) =>
  said == null || [said].flat().some((one) => one === is);
