// Compares the rows of any table with Stripe's list, in memory and without the log: pure, for an audit.

import { bestOf } from '../../rule/plan-selection.ts';
import { ENDED_STATUSES, effectOf, isCharged, rankOf } from '../../rule/status.ts';
import { counted } from '../../runtime/amounts.ts';
import type { ListedSubscription } from '../../stripe/subscription-snapshot.ts';
import type { CustomerListing } from './listed-subscriptions.ts';
import { ReconciliationFailed } from './reconcile.ts';

/** A row with the values that are compared: missing if no row of the table has one, null if this one says nothing. */
export type ComparedRow = {
  readonly [Name in 'plan' | 'status' | 'product' | 'price' | 'subscription']?: string | null;
} & {
  readonly id: string | null;
  readonly customer: string;
  /** Whether it names a plan, whatever its status says. */
  readonly hasPlan: boolean;
  /** Whether a row of its customer has a plan. */
  readonly isBesidePlan: boolean;
};

/** What is wrong with a row; `own_plan`: nothing, but nothing at Stripe has given its plan either, or ended it. */
export type RowCode =
  | 'own_plan'
  | 'ended'
  | 'missing'
  | 'other_plan'
  | 'other_status'
  | 'other_subscription'
  | 'charged_twice'
  | 'unknown_customer'
  | 'not_in_table';

export type TableRules = {
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  /** How many rows with each code are kept. */
  readonly limit: number;
};

/** What is compared of a listed subscription. */
type Listed = Pick<ListedSubscription, 'subscriptionId' | 'status' | 'productId' | 'priceId'>;

const ROW_VALUES = [
  'id',
  'customer',
  'plan',
  'status',
  'product',
  'price',
  'subscription',
] as const;

/** What a difference says of the subscription that decides at Stripe. */
export const AT_STRIPE = {
  stripe_status: 'status',
  stripe_product: 'productId',
  stripe_price: 'priceId',
  stripe_subscription: 'subscriptionId',
} as const;

/** Stripe's list, and what it says about the rows of a table. */
export class TableComparison {
  /** Also what names of plans were found to mean. */
  rules: TableRules;
  /** The names of the products that plans mean. */
  readonly productNames = new Map<string, string | null>();
  subscriptions = 0;
  /** Whether Stripe knows the customer of a row. */
  isAnyKnown = false;
  /** How many rows have each code, and the values of those that are kept, as JSON. */
  readonly found = new Map<RowCode, { count: number; readonly rows: string[] }>();

  /** By customer, as JSON, which takes half the memory: an account can have 100,000. */
  readonly #listed = new Map<string, string>();

  constructor(rules: TableRules) {
    this.rules = rules;
  }

  /** Adds a page of the list, which can repeat a subscription of the page before. @throws ReconciliationFailed */
  add({ subscriptions, unreadable }: CustomerListing): void {
    if (unreadable > 0) {
      const message = `${counted(unreadable, 'subscription')} could not be read: upgrade Instep`;
      throw new ReconciliationFailed('RECONCILIATION_FAILED', message);
    }
    for (const { customerId, subscriptionId, status, productId, priceId } of subscriptions) {
      const others = this.listedOf(customerId).filter(
        (one) => one.subscriptionId !== subscriptionId,
      );
      const all = [...others, { subscriptionId, status, productId, priceId } satisfies Listed];
      this.#listed.set(customerId, JSON.stringify(all));
    }
    this.subscriptions += subscriptions.length;
  }

  customers(): Iterable<string> {
    return this.#listed.keys();
  }

  listedOf(customer: string): readonly Listed[] {
    return JSON.parse(this.#listed.get(customer) ?? '[]');
  }

  /** The best of the customer's subscriptions that give a plan, several if they are equally good. */
  paidBy(customer: string): readonly Listed[] {
    return bestOf(this.listedOf(customer), ({ status }) => this.#counted(status));
  }

  /** While a payment is due, a subscription counts as paid, or as one that will not be paid any more. */
  #counted(status: string): string {
    if (status !== 'past_due') return status;
    return this.rules.pastDue === 'keep' ? 'active' : 'unpaid';
  }

  /** Reads what names of plans mean, unless it is declared: the product for which most rows with the name pay. */
  async readPlans(rows: AsyncIterable<ComparedRow>): Promise<void> {
    const counts = new Map<string, number>();
    for await (const { customer, plan } of rows) {
      const [paid] = this.paidBy(customer);
      const meaning = JSON.stringify([plan, [paid?.productId]]);
      if (plan && paid?.productId) counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
    }
    // A map has the last one of each name.
    const meanings = [...counts].sort(([, rows], [, others]) => rows - others);
    const read = meanings.map(([meaning]) => JSON.parse(meaning));
    this.rules = { ...this.rules, plans: new Map([...read, ...this.rules.plans]) };
  }

  /** Whether the row says that its customer has a plan. */
  claimsPlan({ plan, status, hasPlan }: ComparedRow): boolean {
    const isFree = plan ? this.rules.plans.get(plan)?.length === 0 : false;
    return hasPlan && !isFree && (!status || rankOf(this.#counted(status)) > 0);
  }

  compare(row: ComparedRow, isKnown: boolean): void {
    this.isAnyKnown ||= isKnown;
    const code = isKnown ? this.#judge(row) : 'unknown_customer';
    if (code !== null) this.report(code, row);
  }

  /** What is wrong, the first that fits. */
  #judge(row: ComparedRow): RowCode | null {
    const { customer, status, subscription } = row;
    const paid = this.paidBy(customer);
    const isNamed = (one: Listed) => one.subscriptionId === subscription;
    if (!this.claimsPlan(row)) {
      // Beside a row with the plan, one of another subscription is a record of what has ended.
      const isRecord = row.isBesidePlan && subscription && !paid.some(isNamed);
      return paid.length > 0 && !isRecord ? 'missing' : null;
    }
    const statuses = this.listedOf(customer).map((one) => this.#counted(one.status));
    if (paid.length === 0) {
      if (statuses.length === 0) return 'own_plan';
      if (statuses.includes('paused') || !statuses.some(ends)) return null;
      return subscription === null ? 'own_plan' : 'ended';
    }
    const same = paid.filter((one) => this.#isPlanOf(row, one));
    if (same.length === 0) return 'other_plan';
    const hasStatus = (one: Listed) => one.status === status || one.status === 'past_due';
    if (status !== undefined && !same.some(hasStatus)) return 'other_status';
    if (subscription && !same.some(isNamed)) return 'other_subscription';
    return statuses.filter(isCharged).length > 1 ? 'charged_twice' : null;
  }

  /** By product and price where the table has them, else by the plan's name. */
  #isPlanOf({ product, price, plan }: ComparedRow, { productId, priceId }: Listed): boolean {
    if (product === undefined && price === undefined)
      return !plan || (this.rules.plans.get(plan)?.includes(productId ?? '') ?? true);
    const isSame = (!product || product === productId) && (!price || price === priceId);
    return isSame && Boolean(product || price);
  }

  /** How many rows have the code. */
  count(code: RowCode): number {
    return this.found.get(code)?.count ?? 0;
  }

  /** Counts a row, or a customer without one. */
  report(code: RowCode, row: Partial<ComparedRow> & Pick<ComparedRow, 'customer'>): void {
    const found = this.found.get(code) ?? { count: 0, rows: [] };
    this.found.set(code, found);
    found.count += 1;
    if (code === 'own_plan' || found.count > this.rules.limit) return;
    found.rows.push(JSON.stringify(ROW_VALUES.map((name) => row[name])));
  }

  /** What is wrong, with what decides at Stripe, in the order of these codes. */
  *differences(codes: readonly RowCode[]): Generator<Readonly<Record<string, string | null>>> {
    let left = this.rules.limit;
    for (const code of codes) {
      for (const text of this.found.get(code)?.rows ?? []) {
        if (left === 0) return;
        left -= 1;
        const values: readonly (string | null)[] = JSON.parse(text);
        const row = Object.fromEntries(ROW_VALUES.map((name, index) => [name, values[index]]));
        const customer = row.customer ?? '';
        const [stripe = this.listedOf(customer)[0]] = this.paidBy(customer);
        const atStripe = Object.entries(AT_STRIPE).map(([name, field]) => [
          name,
          stripe?.[field] ?? null,
        ]);
        yield { code, ...row, ...Object.fromEntries(atStripe) };
      }
    }
  }
}

const ends = (status: string) => ENDED_STATUSES.includes(status) || effectOf(status) === 'clears';
