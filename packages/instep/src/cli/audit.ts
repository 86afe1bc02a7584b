// The command `instep audit`: its options, its progress, and what it prints in the end, for people and for programs.

import { setFlagsFromString } from 'node:v8';
import { type Command, Option } from 'commander';
import type { Database, WantedTables } from 'instep-engine/postgres';
import { AT_STRIPE, type TableComparison, type TableRules } from 'instep-engine/repair';
import { counted, countText } from 'instep-engine/runtime';
import { csvLine } from 'instep-operate';
import { audit } from '../audit/audit.ts';
import { type AuditedTable, findAuditedTable, NAMES, type Named } from '../audit/audited-table.ts';
import { readPart } from '../config/config.ts';
import { createCommand, positiveInteger, productsByPlan } from './arguments.ts';
import {
  print,
  printable,
  printMessage,
  startProgress,
  stopSignal,
  tableHead,
  tableLine,
  writeLine,
} from './output.ts';
import { requireDatabase, withDatabase } from './with-database.ts';

type Options = Named & TableRules & { [Flag in 'json' | 'csv' | 'list']?: boolean };

export function auditCommand(): Command {
  const command = createCommand(
    'audit',
    'compare any table of customers with Stripe, and write nothing',
    'STRIPE_SECRET_KEY=rk_… DATABASE_URL=postgres://… instep audit',
  ).option('--table <name>', 'the table, such as app.organizations, if it is not recognized');
  for (const name of NAMES)
    command.option(`--${name} <column>`, `the column with the ${name}, if it is not recognized`);
  const pastDue = new Option('--past-due <how>', 'what a plan does whose payment is due');
  return command
    .option('--plans <pairs>', 'products by plan: pro=prod_1,team=prod_2,free=', productsByPlan)
    .addOption(pastDue.choices(['keep', 'ended']).default('keep'))
    .option('--list', 'also print each difference')
    .option('--json', 'print one JSON object')
    .option('--csv', 'print the differences as CSV')
    .option('--limit <n>', 'at most this many differences', positiveInteger)
    .action((options) => run({ plans: new Map(), limit: Number.POSITIVE_INFINITY, ...options }));
}

async function run(options: Options): Promise<void> {
  // Nearly all of a page of Stripe's list is garbage at once, and V8 would let the heap grow fourfold first.
  if (!process.versions.bun) setFlagsFromString('--optimize-for-size --semi-space-growth-factor=1');
  await requireDatabase();
  // A table of millions of rows takes seconds to read.
  const reading = { migratesEmbedded: false, statementTimeoutMs: 120_000, isReadOnly: true };
  await withDatabase((database, { tables }) => runOn(database, tables, options), reading);
}

async function runOn(database: Database, tables: WantedTables, options: Options): Promise<void> {
  const { json, csv, list, limit } = options;
  const say = json || csv ? () => undefined : print;
  const stripeApi = readPart('stripeApi', process.env);
  const table = await database.transaction((query) => findAuditedTable(query, tables, options));
  const { name, customers, rows, columns, missingIndex } = table;
  const inRows = rows === customers ? '' : ` in ${countText(rows)} rows`;
  say(`Table ${name}: ${counted(customers, 'customer')}${inRows} (${columns.join(', ')})`);
  if (missingIndex !== null) printMessage(`${name} ${NO_INDEX}: ${missingIndex}`);
  const progress = startProgress('Stripe');
  const comparison = await audit({
    ...{ database, table, stripeApi, signal: stopSignal(), onProgress: progress.show },
    rules: { ...options, limit: json || csv || list ? limit : 0 },
  }).finally(progress.clear);
  say(progress.text(counted(comparison.subscriptions, 'subscription'), 1));
  if (CODES.some((code) => comparison.count(code) > 0)) process.exitCode = DIFFERENCES_FOUND;
  for (const line of linesOf(comparison, table, options)) if (!(await writeLine(line))) break;
}

const NO_INDEX = 'has no index on the customer, so each event would read all of it';
const OTHER_ACCOUNT = 'Customers of another account or mode: audit them with their own key.';
const DIFFERENCES_FOUND = 3;

/** What is said of one row, or of several, in the order in which it counts. */
const TEXTS = {
  ended: '(has|have) a plan, but Stripe has ended (its|their) subscription',
  missing: '(pays|pay) Stripe, and (has|have) no plan',
  other_plan: '(has|have) another plan than (it pays|they pay) for',
  other_status: '(has|have) another status than at Stripe',
  other_subscription: '(has|have) another subscription than (it pays|they pay) for',
  charged_twice: '(is|are) charged twice',
  unknown_customer: '(customer|customers) that Stripe does not know',
  not_in_table: '(customer who pays is|customers who pay are) in no row',
};

const CODES = Object.keys(TEXTS) as (keyof typeof TEXTS)[];

/** What is printed, line by line: all of it at once would take more memory than the audit. */
function* linesOf(comparison: TableComparison, table: AuditedTable, options: Options) {
  const { name, columns, customers, rows, used } = table;
  const { subscriptions, rules, productNames } = comparison;
  const ownPlans = comparison.count('own_plan');
  const wrong = CODES.reduce((sum, code) => sum + comparison.count(code), 0);
  const right = rows - wrong + comparison.count('not_in_table');
  const differences = comparison.differences(CODES);
  const headings = ['code', 'id', ...used, ...Object.keys(AT_STRIPE)];
  const cellsOf = (one: Record<string, string | null>) => headings.map((key) => one[key] ?? '');
  if (options.json) {
    const byCode = Object.fromEntries(CODES.map((code) => [code, comparison.count(code)]));
    const counts = { customers, rows, subscriptions, right, ownPlans, ...byCode };
    const plans = Object.fromEntries(rules.plans);
    const about = { version: 1, table: name, columns, counts, plans, rows: [] };
    yield JSON.stringify(about).slice(0, -2);
    let separator = '';
    for (const one of differences) {
      yield separator + JSON.stringify(one);
      separator = ',';
    }
    yield ']}';
    return;
  }
  if (options.csv) {
    // Its lines end in \r\n.
    yield csvLine(headings).slice(0, -1);
    for (const one of differences) yield csvLine(cellsOf(one)).slice(0, -1);
    return;
  }
  for (const [plan, products] of rules.plans) {
    const meant = products.map((one) => `${one} (${productNames.get(one) ?? 'no name'})`);
    yield `  ${printable(plan)} = ${printable(meant.join(', ') || 'no plan')}`;
  }
  const own = ownPlans === 0 ? '' : `, ${countText(ownPlans)} of them with a plan of your own`;
  const summary = `${countText(right)} of ${countText(rows)} are right${own}.`;
  for (const code of CODES) {
    if (code === 'not_in_table') yield summary;
    const count = comparison.count(code);
    const text = TEXTS[code].replace(/\((.+?)\|(.+?)\)/g, count === 1 ? '$1' : '$2');
    if (count > 0) yield `${countText(count).padStart(8)}  ${text.padEnd(62)}  ${code}`;
  }
  if (options.list) {
    const layout = headings.map((heading) => [heading, 18] as const);
    yield tableHead(layout);
    for (const one of differences) yield tableLine(layout, cellsOf(one).map(printable));
  }
  if (comparison.count('unknown_customer') > 0) yield OTHER_ACCOUNT;
  yield 'Details: --list, --json, --csv. Nothing was written.';
  if (wrong > 0) yield 'instep init keeps it so.';
}
