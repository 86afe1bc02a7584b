// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import { type Database, type Query, readThroughCursor } from 'instep-engine/postgres';
import {
  type ComparedRow,
  explainFailure,
  limitOwnRate,
  listCustomer,
  ReconciliationFailed,
  readListings,
  TableComparison,
  type TableRules,
} from 'instep-engine/repair';
import { counted } from 'instep-engine/runtime';
import { createGet, createStripeApiWith, type StripeApiOptions } from 'instep-engine/stripe';
import { whyUnreadable } from '../doctor/stripe-api.ts';
import { type AuditedTable, REFUSE_HIDDEN_ROWS } from './audited-table.ts';

type AuditOptions = {
  readonly database: Database;
  readonly table: AuditedTable;
  readonly rules: TableRules;
  readonly stripeApi: StripeApiOptions;
  readonly signal: AbortSignal;
  readonly onProgress: (done: string, share: number) => void;
};

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** @throws ReconciliationFailed, or an error of the database */
export const audit = (options: AuditOptions) => explainFailure(runAudit(options));

async function runAudit({ database, table, rules, stripeApi, signal, onProgress }: AuditOptions) {
  const get = limitOwnRate(createGet(stripeApi));
  const refusal = await whyUnreadable(get, 'subscriptions', 'products');
  if (refusal)
    throw new ReconciliationFailed('STRIPE_KEY_FORBIDDEN', `STRIPE_SECRET_KEY ${refusal}`);
  const api = createStripeApiWith(get);
  const services = { ...api, api, cursor: null, now: Date.now, signal };
  const comparison = new TableComparison(rules);
  for await (const page of readListings(services)) {
    comparison.add(page);
    // How long the list is can only be guessed before its end.
    const share = Math.min(comparison.subscriptions / table.customers, 0.99);
    onProgress(counted(comparison.subscriptions, 'subscription'), share);
  }
  const compare = (query: Query) => compareRows(query, table, comparison);
  const unlisted = await database.transaction(compare, { isolation: 'repeatable read' });
  // The list leaves out customers of test clocks, and those without subscriptions.
  for (const [index, row] of unlisted.entries()) {
    const listing = await listCustomer(row.customer, services, signal);
    if (listing !== null) comparison.add(listing);
    comparison.compare(row, listing !== null);
    const done = index + 1;
    const of = counted(unlisted.length, 'customer');
    onProgress(`asked for ${done} of ${of} not in its list`, done / unlisted.length);
    if (!comparison.isAnyKnown && done === Math.min(unlisted.length, MAX_UNKNOWN))
      throw new ReconciliationFailed('RECONCILIATION_FAILED', noneKnown(table.name));
  }
  for (const one of [...comparison.rules.plans.values()].flat())
    comparison.productNames.set(one, await api.retrieveProductName(one, signal));
  return comparison;
}

/** Compares all rows. Returns those to ask for: with a plan, of whose customer the list has nothing. */
async function compareRows(query: Query, table: AuditedTable, comparison: TableComparison) {
  const { select, hasOnlyNames } = table;
  // A transaction that conflicts with a standby's recovery begins again.
  comparison.found.clear();
  await query(REFUSE_HIDDEN_ROWS);
  if (hasOnlyNames) await comparison.readPlans(readThroughCursor(query, select));
  const notInTable = new Set(comparison.customers());
  const unlisted: ComparedRow[] = [];
  let other: ComparedRow[] = [];
  for await (const row of readThroughCursor<ComparedRow>(query, select)) {
    notInTable.delete(row.customer);
    if (comparison.listedOf(row.customer).length > 0) comparison.compare(row, true);
    else if (comparison.claimsPlan(row)) unlisted.push(row);
    else other = [row];
  }
  for (const customer of notInTable)
    if (comparison.paidBy(customer).length > 0) comparison.report('not_in_table', { customer });
  // One is enough to see whether Stripe knows any.
  return comparison.isAnyKnown || unlisted.length > 0 ? unlisted : other;
}

const noneKnown = (table: string) =>
  `Stripe knows none of the customers of ${table}: STRIPE_SECRET_KEY is of another mode or account: set the key that they were made with`;
