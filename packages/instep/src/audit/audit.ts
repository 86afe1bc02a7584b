// Compares any table of customers with Stripe, and writes nothing: *compare* without the log. The command calls it.

import type { Database, Query } from 'instep-engine/postgres';
import { listCustomer, ReconciliationFailed, readListings } from 'instep-engine/repair';
import { counted } from 'instep-engine/runtime';
import { createStripeApi, type Get } from 'instep-engine/stripe';
import { requireReadable } from '../doctor/stripe-api.ts';
import { type AuditedTable, REFUSE_HIDDEN_ROWS, type Row } from './audited-table.ts';
import { Findings, type Rules } from './findings.ts';

type AuditOptions = Rules & {
  readonly get: Get;
  readonly signal: AbortSignal;
  readonly onProgress: (done: string, share: number) => void;
};

/** If Stripe knows none of so many customers, it knows none at all. */
const MAX_UNKNOWN = 100;

/** @throws ReconciliationFailed, or an error of the database or of Stripe's API */
export async function audit(database: Database, table: AuditedTable, options: AuditOptions) {
  const { get, signal, onProgress } = options;
  await requireReadable(get, 'subscriptions', 'products');
  const api = createStripeApi(get);
  const services = { ...api, api, now: Date.now, signal };
  const findings = new Findings(options);
  for await (const page of readListings(services)) {
    findings.add(page);
    // How long the list is can only be guessed before its end.
    const share = Math.min(findings.subscriptions / table.customers, 0.99);
    onProgress(counted(findings.subscriptions, 'subscription'), share);
  }
  const judge = (query: Query) => judgeRows(query, table, findings);
  const unlisted = await database.transaction(judge, { isolation: 'repeatable read' });
  // The list leaves out customers of test clocks, and those without subscriptions.
  for (const [index, row] of unlisted.entries()) {
    const listing = await listCustomer(row.customer, services, signal);
    if (listing !== null) findings.add(listing);
    findings.judge(row, listing !== null);
    const done = index + 1;
    const of = counted(unlisted.length, 'customer');
    onProgress(`asked for ${done} of ${of} not in its list`, done / unlisted.length);
    if (!findings.isAnyKnown && done === Math.min(unlisted.length, MAX_UNKNOWN))
      throw new ReconciliationFailed('RECONCILIATION_FAILED', noneKnown(table.name));
  }
  return findings;
}

/** Judges all rows. Returns those to ask for: with a plan, of whose customer the list has nothing. */
async function judgeRows(query: Query, { select, hasNames }: AuditedTable, findings: Findings) {
  // A transaction that conflicts with a standby's recovery begins again.
  findings.found.clear();
  await query(REFUSE_HIDDEN_ROWS);
  if (hasNames) await findings.readPlans(readThroughCursor(query, select));
  const notInTable = findings.customers();
  const unlisted: Row[] = [];
  let other: Row[] = [];
  for await (const row of readThroughCursor(query, select)) {
    notInTable.delete(row.customer);
    if (findings.listedOf(row.customer).length > 0) findings.judge(row, true);
    else if (findings.claimsPlan(row)) unlisted.push(row);
    else other = [row];
  }
  for (const customer of notInTable)
    if (findings.paidBy(customer).length > 0) findings.report('not_in_table', { customer });
  // One is enough to see whether Stripe knows any.
  return findings.isAnyKnown || unlisted.length > 0 ? unlisted : other;
}

const noneKnown = (table: string) =>
  `Stripe knows none of the customers of ${table}: STRIPE_SECRET_KEY is of another mode or account: set the key that they were made with`;

const ROWS_AT_ONCE = 2_000;

/** The rows of a statement, in one pass, without an index, and with only a part of them in memory. */
async function* readThroughCursor(query: Query, sql: string): AsyncGenerator<Row> {
  await query(`declare audited no scroll cursor for ${sql}`);
  for (;;) {
    const rows = await query<Row>(`fetch ${ROWS_AT_ONCE} from audited`);
    if (rows.length === 0) break;
    yield* rows;
  }
  await query('close audited');
}
