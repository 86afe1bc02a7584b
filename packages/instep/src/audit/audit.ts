// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import { type Database, type Query, readThroughCursor } from 'instep-engine/postgres';
import { limitOwnRate, listCustomer, readListings } from 'instep-engine/repair';
import { CodedError, counted, DeadlineExceeded } from 'instep-engine/runtime';
import {
  createGet,
  createStripeApiWith,
  StripeApiFailed,
  type StripeApiOptions,
} from 'instep-engine/stripe';
import { whyUnreadable } from '../doctor/stripe-api.ts';
import { type AuditedRow, type AuditedTable, REFUSE_HIDDEN_ROWS } from './audited-table.ts';
import { claimsPlan, judgeRow, paidIn, type Rules, type Subscription } from './judge-row.ts';

type AuditOptions = Rules & {
  readonly database: Database;
  readonly table: AuditedTable;
  readonly stripeApi: StripeApiOptions;
  readonly signal: AbortSignal;
  readonly onListed: (subscriptions: number) => void;
  readonly onAsked: (customers: number, of: number) => void;
};

export type Difference = {
  readonly code: NonNullable<ReturnType<typeof judgeRow>> | 'unknown_customer' | 'not_in_table';
  /** Only its customer, if that is in no row. */
  readonly row: Partial<AuditedRow>;
  /** The subscription that decides at Stripe; `undefined`: there is none. */
  readonly stripe: Subscription | undefined;
};

/** The audit could not be finished. */
class AuditFailed extends CodedError<'AUDIT_FAILED' | 'STRIPE_KEY_FORBIDDEN'> {}

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** An audit, and what it has found once it has run. */
export class Audit {
  subscriptions = 0;
  differences: Difference[] = [];
  /** The products that names of plans mean, with their names: `prod_1 (Pro plan)`. */
  readonly plans = new Map<string, readonly string[]>();

  readonly #options: AuditOptions;
  /** For each customer, its subscriptions as a text: an account can have 100,000 of them. */
  readonly #listed = new Map<string, string>();
  #rules: Rules;
  #isAnyKnown = false;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#rules = options;
  }

  /** @throws AuditFailed, Stopped, or an error of the database */
  async run(): Promise<void> {
    const { database, table, stripeApi, signal, onListed, onAsked } = this.#options;
    const get = limitOwnRate(createGet(stripeApi));
    const refusal = await whyUnreadable(get, 'subscriptions', 'products');
    if (refusal) throw new AuditFailed('STRIPE_KEY_FORBIDDEN', `STRIPE_SECRET_KEY ${refusal}`);
    const api = createStripeApiWith(get);
    const services = { ...api, api, cursor: null, now: Date.now, signal };
    try {
      for await (const page of readListings(services)) onListed(this.#add(page));
      const compare = (query: Query) => this.#compare(query);
      const unlisted = await database.transaction(compare, { isolation: 'repeatable read' });
      // The list leaves out customers of test clocks, and those without subscriptions.
      for (const [index, row] of unlisted.entries()) {
        const listing = await listCustomer(row.customer, services, signal);
        if (listing !== null) this.#add(listing);
        this.#judge(row, listing !== null);
        onAsked(index + 1, unlisted.length);
        if (!this.#isAnyKnown && index + 1 === Math.min(unlisted.length, MAX_UNKNOWN))
          throw new AuditFailed('AUDIT_FAILED', noneKnown(table.name));
      }
      for (const [plan, products] of this.#rules.plans) {
        const shown = products.map(async (product) => {
          const name = await api.retrieveProductName(product, signal);
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

  #add({ subscriptions, unreadable }: Listing): number {
    if (unreadable > 0) {
      const problem = `${counted(unreadable, 'subscription')} could not be read`;
      throw new AuditFailed('AUDIT_FAILED', `${problem}: upgrade Instep`);
    }
    for (const { customerId, subscriptionId, status, productId, priceId } of subscriptions) {
      const text = JSON.stringify({ subscriptionId, status, productId, priceId });
      const others = this.#listed.get(customerId);
      this.#listed.set(customerId, others === undefined ? text : `${others},${text}`);
    }
    this.subscriptions += subscriptions.length;
    return this.subscriptions;
  }

  #listedOf(customer: string): readonly Subscription[] {
    return JSON.parse(`[${this.#listed.get(customer) ?? ''}]`);
  }

  /** Compares all rows. Returns those to ask for: with a plan, of whose customer the list has nothing. */
  async #compare(query: Query): Promise<readonly AuditedRow[]> {
    const { select } = this.#options.table;
    // A transaction that conflicts with a standby's recovery begins again.
    this.differences = [];
    await query(REFUSE_HIDDEN_ROWS);
    await this.#readPlans(readThroughCursor(query, select));
    const notInTable = new Set(this.#listed.keys());
    const unlisted: AuditedRow[] = [];
    let other: AuditedRow[] = [];
    for await (const row of readThroughCursor<AuditedRow>(query, select)) {
      if (notInTable.delete(row.customer)) this.#judge(row, true);
      else if (claimsPlan(row, this.#rules)) unlisted.push(row);
      else other = [row];
    }
    for (const customer of notInTable)
      if (paidIn(this.#listedOf(customer), this.#rules).length > 0)
        this.#report('not_in_table', { customer });
    // One is enough to see whether Stripe knows any.
    return this.#isAnyKnown || unlisted.length > 0 ? unlisted : other;
  }

  /** Where the table has only names of plans: a name means the product for which most rows with it pay. */
  async #readPlans(rows: AsyncIterable<AuditedRow>): Promise<void> {
    const counts = new Map<string, number>();
    for await (const { customer, plan, product, price } of rows) {
      if (!plan || product !== undefined || price !== undefined) continue;
      const [paid] = paidIn(this.#listedOf(customer), this.#rules);
      const meaning = JSON.stringify([plan, [paid?.productId]]);
      if (paid?.productId) counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
    }
    // A map has the last one of each name.
    const meanings = [...counts].sort(([, rows], [, others]) => rows - others);
    const read = meanings.map(([meaning]) => JSON.parse(meaning));
    this.#rules = { ...this.#rules, plans: new Map([...read, ...this.#options.plans]) };
  }

  #judge(row: AuditedRow, isKnown: boolean): void {
    this.#isAnyKnown ||= isKnown;
    const listed = this.#listedOf(row.customer);
    const code = isKnown ? judgeRow(row, listed, this.#rules) : 'unknown_customer';
    if (code !== null) this.#report(code, row);
  }

  #report(code: Difference['code'], row: Difference['row'] & { customer: string }): void {
    const listed = this.#listedOf(row.customer);
    const [stripe = listed[0]] = paidIn(listed, this.#rules);
    this.differences.push({ code, row, stripe });
  }
}

const noneKnown = (table: string) =>
  `Stripe knows none of the customers of ${table}: STRIPE_SECRET_KEY is of another mode or account: set the key that they were made with`;

type Listing = NonNullable<Awaited<ReturnType<typeof listCustomer>>>;
