// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import { type Database, type Query, readThroughCursor } from 'instep-engine/postgres';
import { limitOwnRate, listCustomer, readListings, stateOfListed } from 'instep-engine/repair';
import { type Reported, selectedReport } from 'instep-engine/rule';
import { CodedError, DeadlineExceeded } from 'instep-engine/runtime';
import {
  createStripeApi,
  keyKindOf,
  type ListedSubscription,
  packListed,
  type StripeApi,
  StripeApiFailed,
  type StripeApiOptions,
  unpackListed,
} from 'instep-engine/stripe';
import { whyUnreadable } from '../doctor/stripe-api.ts';
import type { AuditedRow, AuditedTable } from './audited-table.ts';
import { claimsPlan, judgeRow, paidFor, type RowCode, type Rules } from './judge-row.ts';
import { PlanNames } from './plan-names.ts';

export type AuditOptions = Pick<Rules, 'pastDue'> & {
  readonly database: Database;
  readonly table: AuditedTable;
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  readonly stripeApi: StripeApiOptions;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onListed: (subscriptions: number) => void;
  readonly onAsked: (customers: number, of: number) => void;
};

export type Difference = {
  readonly code: RowCode | 'not_in_table';
  /** `null` for a customer who pays and is in no row. */
  readonly row: AuditedRow | null;
  readonly customerId: string;
  /** The subscription that decides at Stripe; `null`: none does. */
  readonly deciding: Reported | null;
};

/** The audit could not be finished. */
export class AuditFailed extends CodedError<'AUDIT_FAILED' | 'STRIPE_KEY_FORBIDDEN'> {}

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** An audit, and what it has found once it has run. */
export class Audit {
  customers = 0;
  subscriptions = 0;
  /** How many subscriptions have a form that is not known. */
  unreadable = 0;
  ownPlans = 0;
  differences: Difference[] = [];
  /** If plans were compared by name, the products that each name means: `prod_1 (Pro plan)`. */
  readonly plans = new Map<string, string[]>();

  readonly #options: AuditOptions;
  readonly #api: StripeApi;
  /** What Stripe lists of each customer. */
  readonly #packed = new Map<string, string[]>();
  #names: PlanNames;
  #isAnyListed = false;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#api = limitOwnRate(createStripeApi(options.stripeApi), () => performance.now());
    this.#names = new PlanNames(options.plans);
  }

  /** @throws AuditFailed, Stopped, or an error of the database */
  async run(): Promise<void> {
    const { stripeApi, database, signal } = this.#options;
    const refusal = await whyUnreadable(stripeApi, 'subscriptions', 'products');
    if (refusal !== null)
      throw new AuditFailed('STRIPE_KEY_FORBIDDEN', `STRIPE_SECRET_KEY ${refusal}`);
    try {
      await this.#list();
      const isolation = 'repeatable read';
      await this.#ask(await database.transaction((query) => this.#compare(query), { isolation }));
      for (const name of this.#names.paidNames()) {
        const products: string[] = [];
        for (const id of this.#names.productsOf(name) ?? [])
          products.push(`${id} (${await this.#api.retrieveProductName(id, signal)})`);
        this.plans.set(name, products);
      }
    } catch (error) {
      if (!(error instanceof StripeApiFailed || error instanceof DeadlineExceeded)) throw error;
      const message = `Stripe's API failed: ${error.message}: run it again`;
      throw new AuditFailed('AUDIT_FAILED', message, { cause: error });
    }
  }

  async #list(): Promise<void> {
    const { now, signal, onListed } = this.#options;
    const { listSubscriptions } = this.#api;
    for await (const page of readListings({ listSubscriptions, cursor: null, now, signal })) {
      for (const one of page.subscriptions) {
        const others = this.#packed.get(one.customerId) ?? [];
        this.#packed.set(one.customerId, [...others, packListed(one)]);
      }
      this.subscriptions += page.subscriptions.length;
      this.unreadable += page.unreadable;
      onListed(this.subscriptions);
    }
  }

  #listedOf(customerId: string): ListedSubscription[] {
    return (this.#packed.get(customerId) ?? []).flatMap((text) => unpackListed(text) ?? []);
  }

  get #rules(): Rules {
    const { table, pastDue, now } = this.#options;
    return { table, names: this.#names, pastDue, nowSeconds: now() / 1_000 };
  }

  /**
   * Compares all rows. Returns those of whose customers the list has nothing, although they have a plan; if the list has
   * nothing of the table at all, at least one.
   */
  async #compare(query: Query): Promise<AuditedRow[]> {
    const { table, plans, pastDue } = this.#options;
    // A transaction that conflicts with a standby's recovery begins again.
    this.#names = new PlanNames(plans);
    this.differences = [];
    this.customers = 0;
    this.ownPlans = 0;
    const inBoth = new Set<string>();
    const unlisted: AuditedRow[] = [];
    const withoutPlan: AuditedRow[] = [];
    const readRows = () => readThroughCursor<AuditedRow>(query, table.rows);
    if (!table.isUsed('providerProductId') && !table.isUsed('priceId')) {
      for await (const { planName, customerId } of readRows()) {
        const [best] = planName === null ? [] : paidFor(this.#listedOf(customerId), pastDue);
        const productId = best?.plan.providerProductId ?? null;
        if (planName !== null && productId !== null) this.#names.count(planName, productId);
      }
    }
    for await (const row of readRows()) {
      this.customers += 1;
      const listed = this.#listedOf(row.customerId);
      if (listed.length > 0) {
        inBoth.add(row.customerId);
        this.#add(row, listed);
      } else if (claimsPlan(row, this.#rules)) unlisted.push(row);
      else withoutPlan[0] = row;
    }
    for (const customerId of this.#packed.keys()) {
      const listed = inBoth.has(customerId) ? [] : this.#listedOf(customerId);
      if (paidFor(listed, 'ended').length > 0) this.#report('not_in_table', null, listed);
    }
    this.#isAnyListed = inBoth.size > 0;
    return this.#isAnyListed || unlisted.length > 0 ? unlisted : withoutPlan;
  }

  /** Asks for single customers: the list leaves out those of test clocks, and those without subscriptions. */
  async #ask(rows: readonly AuditedRow[]): Promise<void> {
    const { table, stripeApi, now, signal, onAsked } = this.#options;
    const unknown: AuditedRow[] = [];
    for (const [index, row] of rows.entries()) {
      const listed = await listCustomer(row.customerId, { api: this.#api, now }, signal);
      onAsked(index + 1, rows.length);
      if (listed === null) unknown.push(row);
      else this.#add(row, listed.subscriptions);
      this.unreadable += listed?.unreadable ?? 0;
      const isNoneKnown = !this.#isAnyListed && unknown.length === index + 1;
      if (isNoneKnown && unknown.length === Math.min(rows.length, MAX_UNKNOWN)) {
        const { mode } = keyKindOf(stripeApi.secretKey);
        const key = `STRIPE_SECRET_KEY${mode === null ? '' : `, a ${mode} key,`}`;
        const problem = `Stripe knows none of the customers of ${table.name}: ${key} is of another mode or account`;
        throw new AuditFailed('AUDIT_FAILED', `${problem}: set the key that they were made with`);
      }
    }
    for (const row of unknown) this.#report('unknown_customer', row, []);
  }

  #add(row: AuditedRow, listed: readonly ListedSubscription[]): void {
    const result = judgeRow(row, listed, this.#rules);
    if (result === 'own plan') this.ownPlans += 1;
    else if (result !== 'right') this.#report(result, row, listed);
  }

  #report(
    code: Difference['code'],
    row: AuditedRow | null,
    listed: readonly ListedSubscription[],
  ): void {
    const state = stateOfListed(listed);
    const [best = selectedReport(state, 'best')] = paidFor(listed, this.#options.pastDue);
    const id = best?.plan.providerSubscriptionId ?? null;
    const deciding = state.subscriptions.get(id)?.latest.reported ?? null;
    const customerId = row?.customerId ?? listed[0]?.customerId ?? '';
    this.differences.push({ code, row, customerId, deciding });
  }
}
