// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import { type Database, type Query, readThroughCursor } from 'instep-engine/postgres';
import { limitOwnRate, listCustomer, readListings } from 'instep-engine/repair';
import { CodedError, counted, DeadlineExceeded } from 'instep-engine/runtime';
import {
  createGet,
  createStripeApiWith,
  keyKindOf,
  StripeApiFailed,
  type StripeApiOptions,
} from 'instep-engine/stripe';
import { whyUnreadable } from '../doctor/stripe-api.ts';
import {
  type AuditedCustomer,
  type AuditedRow,
  type AuditedTable,
  REFUSE_HIDDEN_ROWS,
} from './audited-table.ts';
import {
  claimsPlan,
  judgeRow,
  paidIn,
  productsOf,
  type Rules,
  type Subscription,
} from './judge-row.ts';

export type AuditOptions = Pick<Rules, 'pastDue' | 'plans'> & {
  readonly database: Database;
  readonly table: AuditedTable;
  readonly stripeApi: StripeApiOptions;
  readonly signal: AbortSignal;
  readonly onListed: (subscriptions: number) => void;
  readonly onAsked: (customers: number, of: number) => void;
};

export type Difference = {
  readonly code: NonNullable<ReturnType<typeof judgeRow>> | 'unknown_customer' | 'not_in_table';
  readonly customer: string;
  /** `null` for a customer who pays and is in no row. */
  readonly row: AuditedRow | null;
  /** The subscription that decides at Stripe; `null`: there is none. */
  readonly stripe: Subscription | null;
};

/** The audit could not be finished. */
class AuditFailed extends CodedError<'AUDIT_FAILED' | 'STRIPE_KEY_FORBIDDEN'> {}

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** An audit, and what it has found once it has run. */
export class Audit {
  subscriptions = 0;
  differences: Difference[] = [];
  /** The products that names of plans mean: `prod_1 (Pro plan)`. */
  readonly plans = new Map<string, readonly string[]>();

  readonly #options: AuditOptions;
  /** For each customer, its subscriptions as a short text: an account can have 100,000 of them. */
  readonly #listed = new Map<string, string>();
  #rules: Rules;
  #isAnyKnown = false;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#rules = { ...options, used: options.table.used };
  }

  /** @throws AuditFailed, Stopped, or an error of the database */
  async run(): Promise<void> {
    const { database, stripeApi, signal, onListed, onAsked } = this.#options;
    const get = limitOwnRate(createGet(stripeApi));
    const refusal = await whyUnreadable(get, 'subscriptions', 'products');
    if (refusal) throw new AuditFailed('STRIPE_KEY_FORBIDDEN', `STRIPE_SECRET_KEY ${refusal}`);
    const api = createStripeApiWith(get);
    const { listSubscriptions, retrieveProductName } = api;
    const services = { api, listSubscriptions, cursor: null, now: Date.now, signal };
    try {
      for await (const page of readListings(services)) {
        this.#add(page);
        onListed(this.subscriptions);
      }
      const compare = (query: Query) => this.#compare(query);
      const unlisted = await database.transaction(compare, { isolation: 'repeatable read' });
      // The list leaves out customers of test clocks, and those without subscriptions.
      for (const [index, customer] of unlisted.entries()) {
        const listing = await listCustomer(customer.customer, services, signal);
        if (listing !== null) this.#add(listing);
        this.#judge(customer, listing !== null);
        onAsked(index + 1, unlisted.length);
        if (!this.#isAnyKnown && index + 1 === Math.min(unlisted.length, MAX_UNKNOWN))
          throw noneKnown(this.#options);
      }
      for (const [plan, products] of this.#rules.plans) {
        const shown = products.map(async (product) => {
          const name = await retrieveProductName(product, signal);
          return name === null ? product : `${product} (${name})`;
        });
        this.plans.set(plan, await Promise.all(shown));
      }
    } catch (error) {
      if (!(error instanceof StripeApiFailed || error instanceof DeadlineExceeded)) throw error;
      const message = `Stripe's API failed: ${error.message}: run it again`;
      throw new AuditFailed('AUDIT_FAILED', message, { cause: error });
    }
  }

  #add({ subscriptions, unreadable }: Listing): void {
    if (unreadable > 0) {
      const problem = `${counted(unreadable, 'subscription')} could not be read`;
      throw new AuditFailed('AUDIT_FAILED', `${problem}: upgrade Instep`);
    }
    this.subscriptions += subscriptions.length;
    for (const { customerId, subscriptionId, status, productId, priceId } of subscriptions) {
      const text = JSON.stringify([subscriptionId, status, productId, priceId]);
      const others = this.#listed.get(customerId);
      this.#listed.set(customerId, others === undefined ? text : `${others},${text}`);
    }
  }

  #listedOf(customer: string): readonly Subscription[] {
    const listed: (readonly [string, string, string | null, string | null])[] = JSON.parse(
      `[${this.#listed.get(customer) ?? ''}]`,
    );
    return listed.map(([subscription, status, product, price]) => {
      return { subscription, status, product, price };
    });
  }

  /** Compares all rows. Returns the customers to ask for: those with a plan of whom the list has nothing. */
  async #compare(query: Query): Promise<readonly AuditedCustomer[]> {
    const { table } = this.#options;
    // A transaction that conflicts with a standby's recovery begins again.
    this.differences = [];
    await query(REFUSE_HIDDEN_ROWS);
    const readCustomers = () => readThroughCursor<AuditedCustomer>(query, table.select);
    if (!table.used.has('product') && !table.used.has('price'))
      this.#rules = { ...this.#rules, plans: await this.#readPlans(readCustomers()) };
    const notInTable = new Set(this.#listed.keys());
    const unlisted: AuditedCustomer[] = [];
    let withoutPlan: AuditedCustomer[] = [];
    for await (const one of readCustomers()) {
      if (notInTable.delete(one.customer)) this.#judge(one, true);
      else if (one.rows.some((row) => claimsPlan(row, this.#rules))) unlisted.push(one);
      else withoutPlan = [one];
    }
    for (const customer of notInTable)
      if (paidIn(this.#listedOf(customer), 'ended').length > 0)
        this.#report('not_in_table', customer, null);
    // One is enough to see whether Stripe knows any.
    return this.#isAnyKnown || unlisted.length > 0 ? unlisted : withoutPlan;
  }

  /** What the names of plans mean: what is declared, or the product for which most rows with the name pay. */
  async #readPlans(customers: AsyncIterable<AuditedCustomer>): Promise<Rules['plans']> {
    const { plans, pastDue } = this.#options;
    const counts = new Map<string, number>();
    for await (const { customer, rows } of customers) {
      const [paid] = paidIn(this.#listedOf(customer), pastDue);
      for (const { plan } of rows) {
        const products = plan && (productsOf(plan, plans) ?? (paid?.product && [paid.product]));
        if (!products) continue;
        const meaning = JSON.stringify([plan, products]);
        counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
      }
    }
    // A map has the last one of each name.
    const meanings = [...counts].sort(([, rows], [, others]) => rows - others);
    return new Map(meanings.map(([meaning]) => JSON.parse(meaning)));
  }

  /** Of several rows of a customer, one with a plan is enough, and one that names a subscription is about this one. */
  #judge({ customer, rows }: AuditedCustomer, isKnown: boolean): void {
    this.#isAnyKnown ||= isKnown;
    const listed = this.#listedOf(customer);
    const withPlan = rows.filter((row) => claimsPlan(row, this.#rules));
    for (const row of withPlan.length > 0 ? withPlan : rows.slice(0, 1)) {
      const named = listed.filter(({ subscription }) => subscription === row.subscription);
      const own = withPlan.length > 1 && named.length > 0 ? named : listed;
      const code = isKnown ? judgeRow(row, own, this.#rules) : 'unknown_customer';
      if (code !== null) this.#report(code, customer, row);
    }
  }

  #report(code: Difference['code'], customer: string, row: AuditedRow | null): void {
    const listed = this.#listedOf(customer);
    const [stripe = listed[0] ?? null] = paidIn(listed, this.#options.pastDue);
    this.differences.push({ code, customer, row, stripe });
  }
}

function noneKnown({ stripeApi, table }: AuditOptions): AuditFailed {
  const { mode } = keyKindOf(stripeApi.secretKey);
  const key = `STRIPE_SECRET_KEY${mode === null ? '' : `, a ${mode} key,`}`;
  const problem = `Stripe knows none of the customers of ${table.name}`;
  const why = `${key} is of another mode or account: set the key that they were made with`;
  return new AuditFailed('AUDIT_FAILED', `${problem}: ${why}`);
}

type Listing = NonNullable<Awaited<ReturnType<typeof listCustomer>>>;
