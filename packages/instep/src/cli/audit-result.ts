// What `instep audit` prints in the end, for people and for programs.

import { statusesWithAccess } from 'instep-engine/rule';
import { countText } from 'instep-engine/runtime';
import { csvLine } from 'instep-operate';
import type { Audit, Difference } from '../audit/audit.ts';
import type { AuditedTable } from '../audit/audited-table.ts';
import { type Columns, print, printable, type RowFormat, tableLine, writeRows } from './output.ts';

export type AuditFormat = { readonly limit?: number } & {
  readonly [Name in 'json' | 'csv' | 'list']?: boolean;
};

/** What is said of one row, and of several, in the order in which it is printed. */
const TEXTS: Readonly<Record<Difference['code'], readonly [one: string, several: string]>> = {
  ended: [
    'has a plan, but Stripe has ended its subscription',
    'have a plan, but Stripe has ended their subscription',
  ],
  missing: ['pays Stripe, and has no plan', 'pay Stripe, and have no plan'],
  other_plan: ['has another plan than it pays for', 'have another plan than they pay for'],
  other_status: ['has another status than at Stripe', 'have another status than at Stripe'],
  other_subscription: [
    'has another subscription than it pays for',
    'have another subscription than they pay for',
  ],
  charged_twice: ['is charged twice', 'are charged twice'],
  unknown_customer: ['customer that Stripe does not know', 'customers that Stripe does not know'],
  not_in_table: ['customer who pays is in no row', 'customers who pay are in no row'],
};

const CODES = Object.keys(TEXTS) as Difference['code'][];

const DIFFERENCE: RowFormat<Difference>['columns'] = [
  ['code', 18, ({ code }) => code],
  ['id', 8, ({ row }) => row?.id ?? null],
  ['customer', 18, ({ customerId }) => customerId],
  ['plan', 8, ({ row }) => row?.planName ?? null],
  ['status', 8, ({ row }) => row?.subscriptionStatus ?? null],
  ['product', 18, ({ row }) => row?.providerProductId ?? null],
  ['price', 18, ({ row }) => row?.priceId ?? null],
  ['subscription', 18, ({ row }) => row?.providerSubscriptionId ?? null],
  ['stripeStatus', 12, ({ deciding }) => deciding?.status ?? null],
  ['stripeProduct', 18, ({ deciding }) => deciding?.plan.providerProductId ?? null],
  ['stripePrice', 18, ({ deciding }) => deciding?.plan.priceId ?? null],
  ['stripeSubscription', 18, ({ deciding }) => deciding?.plan.providerSubscriptionId ?? null],
];

const dataOf = (difference: Difference) =>
  Object.fromEntries(DIFFERENCE.map(([name, , cell]) => [name, cell(difference)]));

export async function printAudit(
  found: Audit,
  { name, columns }: AuditedTable,
  { json, csv, list, limit = Number.POSITIVE_INFINITY }: AuditFormat,
): Promise<void> {
  const { differences, plans, customers, subscriptions, unreadable, ownPlans } = found;
  const ofCode = (code: Difference['code']) => differences.filter((one) => one.code === code);
  const rows = CODES.flatMap(ofCode).slice(0, limit);
  if (json) {
    const counted = CODES.map((code) => [code, ofCode(code).length] as const);
    const totals = { customers, subscriptions, unreadable, right: rightIn(found), ownPlans };
    const counts = { ...totals, ...Object.fromEntries(counted) };
    const result = {
      table: name,
      columns,
      counts,
      plans: Object.fromEntries(plans),
      rows: rows.map(dataOf),
    };
    print(JSON.stringify({ version: 1, ...result }));
  } else if (csv) {
    const lines = [
      DIFFERENCE.map(([name]) => name),
      ...rows.map((one) => Object.values(dataOf(one))),
    ];
    process.stdout.write(lines.map(csvLine).join(''));
  } else {
    for (const [name, products] of plans)
      print(`  ${printable(name)} = ${printable(products.join(', ') || 'no plan')}`);
    for (const code of CODES) if (code !== 'not_in_table') printCount(code, ofCode(code).length);
    const own =
      found.ownPlans === 0 ? '' : `, ${countText(found.ownPlans)} of them with a plan of your own`;
    print(`${countText(rightIn(found))} of ${countText(found.customers)} are right${own}.`);
    printCount('not_in_table', ofCode('not_in_table').length);
    if (list) await writeRows({ columns: DIFFERENCE, data: dataOf }, rows, {});
    const due = differences.filter(({ deciding }) => DUE.includes(deciding?.status ?? '')).length;
    const verbs = due === 1 ? ['has', 'it counts'] : ['have', 'they count'];
    if (due > 0)
      print(
        `${countText(due)} of these ${verbs[0]} a payment due: with --past-due ended, ${verbs[1]} as ended.`,
      );
    print('Details: --list, --json, --csv. Nothing was written.');
    if (differences.length > 0) print('instep init keeps it so.');
  }
}

const DUE = statusesWithAccess('in grace');

const rightIn = ({ customers, differences }: Audit) =>
  customers - differences.filter(({ row }) => row !== null).length;

function printCount(code: Difference['code'], count: number): void {
  const text = TEXTS[code][count === 1 ? 0 : 1];
  if (count > 0) print(tableLine(COUNT, [countText(count).padStart(8), text, code]));
}

const COUNT: Columns = [
  ['count', 8],
  ['text', 62],
];
