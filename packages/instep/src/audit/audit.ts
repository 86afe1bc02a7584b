// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import type { Database, Query } from 'instep-engine/postgres';
import { listCustomer, ReconciliationFailed, readListings } from 'instep-engine/repair';
import { counted } from 'instep-engine/runtime';
import { createStripeApi, type Get } from 'instep-engine/stripe';
import { requireReadable } from '../doctor/stripe-api.ts';
import { type AuditedTable, type CustomerRows, REFUSE_HIDDEN_ROWS } from './audited-table.ts';
import { Findings } from './findings.ts';

type Asking = {
  readonly get: Get;
  readonly signal: AbortSignal;
  readonly onProgress: (done: string, share: number) => void;
};

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** @throws ReconciliationFailed, or an error of the database or of Stripe's API */
export async function audit(database: Database, table: AuditedTable, asking: Asking) {
  const { get, signal, onProgress } = asking;
  await requireReadable(get, 'subscriptions', 'products');
  const api = createStripeApi(get);
  const services = { ...api, api, now: Date.now, signal };
  const findings = new Findings(table);
  for await (const page of readListings(services)) {
    findings.add(page);
    // How long the list is can only be guessed before its end.
    const share = Math.min(findings.subscriptions / table.customers, 0.99);
    onProgress(counted(findings.subscriptions, 'subscription'), share);
  }
  const judge = (query: Query) => judgeTable(query, table, findings);
  const { plans, unlisted } = await database.transaction(judge, { isolation: 'repeatable read' });
  // The list leaves out customers of test clocks, and those without subscriptions.
  for (const [index, { customer, rows }] of unlisted.entries()) {
    const listing = await listCustomer(customer, services, signal);
    if (listing !== null) findings.add(listing);
    findings.judge(rows, listing !== null, plans);
    const done = index + 1;
    const of = counted(unlisted.length, 'customer');
    onProgress(`asked for ${done} of ${of} not in its list`, done / unlisted.length);
    if (!findings.isAnyKnown && done === Math.min(unlisted.length, MAX_UNKNOWN))
      throw new ReconciliationFailed('RECONCILIATION_FAILED', noneKnown(table.name));
  }
  return { findings, plans };
}

/** Judges all rows but those of customers to ask for: with a plan, of whom the list has nothing. */
async function judgeTable(query: Query, table: AuditedTable, findings: Findings) {
  // A transaction that conflicts with a standby's recovery begins again.
  findings.counts.clear();
  findings.differences.length = 0;
  await query(REFUSE_HIDDEN_ROWS);
  const customers = () => readThroughCursor(query, table.select);
  const plans = table.hasNames ? await findings.readPlans(customers()) : table.plans;
  const notInTable = findings.customers();
  const unlisted: CustomerRows[] = [];
  let other: CustomerRows[] = [];
  for await (const { customer, rows } of customers()) {
    const withPlan = rows.filter((row) => findings.claimsPlan(row));
    if (notInTable.delete(customer)) findings.judge(rows, true, plans);
    else if (withPlan.length > 0) unlisted.push({ customer, rows: withPlan });
    else other = [{ customer, rows }];
  }
  for (const customer of notInTable)
    if (findings.paidBy(customer).length > 0) findings.report('not_in_table', { customer });
  // One is enough to see whether Stripe knows any.
  return { plans, unlisted: findings.isAnyKnown || unlisted.length > 0 ? unlisted : other };
}

const noneKnown = (table: string) =>
  `Stripe knows none of the customers of ${table}: STRIPE_SECRET_KEY is of another mode or account: set the key that they were made with`;

const CUSTOMERS_AT_ONCE = 2_000;

/** The customers of a statement, in one pass, without an index, and with only a part of them in memory. */
async function* readThroughCursor(query: Query, sql: string): AsyncGenerator<CustomerRows> {
  await query(`declare audited no scroll cursor for ${sql}`);
  for (;;) {
    const customers = await query<CustomerRows>(`fetch ${CUSTOMERS_AT_ONCE} from audited`);
    if (customers.length === 0) break;
    yield* customers;
  }
  await query('close audited');
}
