// What `instep audit` prints in the end, for people and for programs.

import { countText } from 'instep-engine/runtime';
import { csvLine } from 'instep-operate';
import type { Audit, Difference } from '../audit/audit.ts';
import type { AuditedTable } from '../audit/audited-table.ts';
import {
  type Columns,
  print,
  printable,
  type RowFormat,
  tableLine,
  writeLine,
  writeRows,
} from './output.ts';

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

const COLUMNS: RowFormat<Difference>['columns'] = [
  ['code', 18, ({ code }) => code],
  ['id', 8, ({ row }) => row && String(row.id)],
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

const cellsOf = (difference: Difference) => COLUMNS.map(([, , cell]) => cell(difference));

const dataOf = (difference: Difference) =>
  Object.fromEntries(COLUMNS.map(([name, , cell]) => [name, cell(difference)]));

export async function printAudit(
  found: Audit,
  { name, columns, customers, rows }: AuditedTable,
  { json, csv, list, limit = Number.POSITIVE_INFINITY }: AuditFormat,
): Promise<void> {
  const { differences, plans, subscriptions, unreadable, ownPlans } = found;
  const counts = CODES.map((code) => [code, found.counts.get(code) ?? 0] as const);
  const wrong = counts.reduce(
    (sum, [code, count]) => (code === 'not_in_table' ? sum : sum + count),
    0,
  );
  const right = rows - wrong;
  const printed = CODES.flatMap((code) => differences.filter((one) => one.code === code)).slice(
    0,
    limit,
  );
  if (json) {
    const totals = { customers, rows, subscriptions, unreadable, right, ownPlans };
    const result = {
      ...{ version: 1, table: name, columns },
      counts: { ...totals, ...Object.fromEntries(counts) },
      plans: Object.fromEntries(plans),
    };
    // Row by row, because there can be many.
    await writeLine(`${JSON.stringify(result).slice(0, -1)},"rows":[`);
    const last = printed.at(-1);
    for (const one of printed)
      await writeLine(JSON.stringify(dataOf(one)) + (one === last ? '' : ','));
    await writeLine(']}');
  } else if (csv) {
    const lines = [COLUMNS.map(([name]) => name), ...printed.map(cellsOf)];
    process.stdout.write(lines.map(csvLine).join(''));
  } else {
    for (const [name, products] of plans)
      print(`  ${printable(name)} = ${printable(products.join(', ') || 'no plan')}`);
    const own = ownPlans === 0 ? '' : `, ${countText(ownPlans)} of them with a plan of your own`;
    for (const [code, count] of counts) {
      if (code === 'not_in_table')
        print(`${countText(right)} of ${countText(rows)} are right${own}.`);
      const text = TEXTS[code][count === 1 ? 0 : 1];
      if (count > 0) print(tableLine(COUNT, [countText(count).padStart(8), text, code]));
    }
    const filled = COLUMNS.filter(([, , cell]) => printed.some((one) => cell(one) !== null));
    if (list) await writeRows({ columns: filled, data: dataOf }, printed, {});
    if (found.counts.has('unknown_customer'))
      print(
        'Stripe does not know customers of another account or mode: run it with the key of each.',
      );
    print('Details: --list, --json, --csv. Nothing was written.');
    if (found.counts.size > 0) print('instep init keeps it so.');
  }
}

const COUNT: Columns = [
  ['count', 8],
  ['text', 62],
];
