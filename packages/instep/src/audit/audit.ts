// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import { type Database, type Query, readThroughCursor } from 'instep-engine/postgres';
import { limitOwnRate, listCustomer, readListings } from 'instep-engine/repair';
import { type CustomerState, NO_STATE, type Reported, selectedReport } from 'instep-engine/rule';
import { CodedError, DeadlineExceeded } from 'instep-engine/runtime';
import {
  createGet,
  createStripeApiWith,
  type Get,
  keyKindOf,
  type StripeApi,
  StripeApiFailed,
  type StripeApiOptions,
} from 'instep-engine/stripe';
import { whyUnreadable } from '../doctor/stripe-api.ts';
import type { AuditedTable } from './audited-table.ts';
import {
  type AuditedRow,
  claimsPlan,
  judgeRows,
  paidIn,
  type RowCode,
  type Rules,
} from './judge-rows.ts';
import { ListedCustomers } from './listed-customers.ts';
import { PlanNames } from './plan-names.ts';

export type AuditOptions = Pick<Rules, 'pastDue'> & {
  readonly database: Database;
  readonly table: AuditedTable;
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  readonly stripeApi: StripeApiOptions;
  /** How many differences of each code are kept, rather than only counted. */
  readonly limit: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onListed: (subscriptions: number) => void;
  readonly onAsked: (customers: number, of: number) => void;
};

export type Difference = {
  readonly code: RowCode | 'not_in_table';
  readonly customerId: string;
  /** `null` for a customer who pays and is in no row. */
  readonly row: AuditedRow | null;
  /** The subscription that decides at Stripe; `null`: none does. */
  readonly deciding: Reported | null;
};

/** The audit could not be finished. */
export class AuditFailed extends CodedError<'AUDIT_FAILED' | 'STRIPE_KEY_FORBIDDEN'> {}

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** An audit, and what it has found once it has run. */
export class Audit {
  subscriptions = 0;
  /** How many subscriptions have a form that is not known. */
  unreadable = 0;
  ownPlans = 0;
  readonly counts = new Map<Difference['code'], number>();
  differences: Difference[] = [];
  /** If plans were compared by name, the products that each name means: `prod_1 (Pro plan)`. */
  readonly plans = new Map<string, string[]>();

  readonly #options: AuditOptions;
  readonly #get: Get;
  readonly #api: StripeApi;
  readonly #listed = new ListedCustomers();
  #rules: Rules;
  /** Whether Stripe knows a customer of the table. */
  #isAnyKnown = false;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#get = limitOwnRate(createGet(options.stripeApi));
    this.#api = createStripeApiWith(this.#get);
    this.#rules = this.#newRules();
  }

  #newRules(): Rules {
    const { table, plans, pastDue, now } = this.#options;
    return {
      used: table.used,
      names: new PlanNames(plans),
      pastDue,
      nowSeconds: now() / 1_000,
    };
  }

  /** @throws AuditFailed, Stopped, or an error of the database */
  async run(): Promise<void> {
    const refusal = await whyUnreadable(this.#get, 'subscriptions', 'products');
    if (refusal !== null)
      throw new AuditFailed('STRIPE_KEY_FORBIDDEN', `STRIPE_SECRET_KEY ${refusal}`);
    const { database, signal } = this.#options;
    try {
      await this.#list();
      const isolation = 'repeatable read';
      await this.#ask(await database.transaction((query) => this.#compare(query), { isolation }));
      for (const [name, productIds] of this.#rules.names.paidFor()) {
        const products = productIds.map(async (id) => {
          const shown = await this.#api.retrieveProductName(id, signal);
          return shown === null ? id : `${id} (${shown})`;
        });
        this.plans.set(name, await Promise.all(products));
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
    const all = { listSubscriptions, cursor: null, now, signal };
    for await (const { subscriptions, unreadable } of readListings(all)) {
      this.#listed.add(subscriptions);
      this.subscriptions += subscriptions.length;
      this.unreadable += unreadable;
      onListed(this.subscriptions);
    }
  }

  /**
   * Compares all rows. Returns those of the customers of whom the list has nothing, although they have a plan; if the list
   * has nothing of the table at all, those of at least one.
   */
  async #compare(query: Query): Promise<AuditedRow[][]> {
    // A transaction that conflicts with a standby's recovery begins again.
    this.#rules = this.#newRules();
    this.counts.clear();
    this.differences = [];
    this.ownPlans = 0;
    const { names, used, pastDue } = this.#rules;
    const readRows = () => readThroughCursor<AuditedRow>(query, this.#options.table.select);
    if (!used.has('providerProductId') && !used.has('priceId')) {
      for await (const { planName, customerId } of readRows()) {
        const [best] = planName ? paidIn(this.#listed.stateOf(customerId), pastDue) : [];
        const productId = best?.plan.providerProductId;
        if (planName && productId) names.count(planName, productId);
      }
    }
    const notInTable = new Set(this.#listed.ids());
    const unlisted: AuditedRow[][] = [];
    const withoutPlan: AuditedRow[][] = [];
    for await (const rows of byCustomer(readRows())) {
      if (notInTable.delete(customerOf(rows))) this.#judge(rows);
      else if (rows.some((row) => claimsPlan(row, this.#rules))) unlisted.push(rows);
      else withoutPlan[0] = rows;
    }
    for (const customerId of notInTable) {
      const state = this.#listed.stateOf(customerId);
      if (paidIn(state, 'ended').length > 0) this.#report('not_in_table', customerId, null, state);
    }
    return this.#isAnyKnown || unlisted.length > 0 ? unlisted : withoutPlan;
  }

  /** Asks for single customers: the list leaves out those of test clocks, and those without subscriptions. */
  async #ask(customers: readonly AuditedRow[][]): Promise<void> {
    const { table, stripeApi, now, signal, onAsked } = this.#options;
    const unknown: AuditedRow[] = [];
    for (const [index, rows] of customers.entries()) {
      const found = await listCustomer(customerOf(rows), { api: this.#api, now }, signal);
      onAsked(index + 1, customers.length);
      if (found === null) unknown.push(...rows);
      else {
        this.#listed.add(found.subscriptions);
        this.unreadable += found.unreadable;
        this.#judge(rows);
      }
      if (!this.#isAnyKnown && index + 1 === Math.min(customers.length, MAX_UNKNOWN)) {
        const { mode } = keyKindOf(stripeApi.secretKey);
        const key = `STRIPE_SECRET_KEY${mode === null ? '' : `, a ${mode} key,`}`;
        const problem = `Stripe knows none of the customers of ${table.name}: ${key} is of another mode or account`;
        throw new AuditFailed('AUDIT_FAILED', `${problem}: set the key that they were made with`);
      }
    }
    for (const row of unknown) this.#report('unknown_customer', row.customerId, row, NO_STATE);
  }

  #judge(rows: readonly AuditedRow[]): void {
    this.#isAnyKnown = true;
    const state = this.#listed.stateOf(customerOf(rows));
    for (const [row, verdict] of judgeRows(rows, state, this.#rules)) {
      if (verdict === 'own plan') this.ownPlans += 1;
      else if (verdict !== 'right') this.#report(verdict, row.customerId, row, state);
    }
  }

  #report(
    code: Difference['code'],
    customerId: string,
    row: AuditedRow | null,
    state: CustomerState,
  ) {
    const count = (this.counts.get(code) ?? 0) + 1;
    this.counts.set(code, count);
    if (count > this.#options.limit) return;
    const [deciding = selectedReport(state, 'best')] = paidIn(state, this.#rules.pastDue);
    this.differences.push({ code, customerId, row, deciding });
  }
}

const customerOf = ([row]: readonly AuditedRow[]) => row?.customerId ?? '';

/** The rows of each customer, from rows in the order of their customers. */
async function* byCustomer(rows: AsyncIterable<AuditedRow>): AsyncGenerator<AuditedRow[]> {
  let group: AuditedRow[] = [];
  for await (const row of rows) {
    if (group.length > 0 && customerOf(group) !== row.customerId) {
      yield group;
      group = [];
    }
    group.push(row);
  }
  if (group.length > 0) yield group;
}
