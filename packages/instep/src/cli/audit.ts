// The command `instep audit`: its options, its progress, and what it prints in the end, for people and for programs.

import { setFlagsFromString } from 'node:v8';
import { type Command, Option } from 'commander';
import type { Database, WantedTables } from 'instep-engine/postgres';
import { counted, countText } from 'instep-engine/runtime';
import { csvLine } from 'instep-operate';
import { audit } from '../audit/audit.ts';
import { type AuditedTable, findAuditedTable, type Named } from '../audit/audited-table.ts';
import { type Code, type Findings, HEADINGS, NAMES, type Rules } from '../audit/findings.ts';
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
} from './output.ts';
import { requireDatabase, withDatabase } from './with-database.ts';

type Options = Named & Rules & { [Flag in 'json' | 'csv' | 'list']?: boolean };

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
    .option('--limit <n>', 'at most this many differences', positiveInteger, 10_000)
    .action((options) => run({ plans: new Map(), ...options }));
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
  const { json, csv } = options;
  const say = json || csv ? () => undefined : print;
  const stripeApi = readPart('stripeApi', process.env);
  const table = await database.transaction((query) => findAuditedTable(query, tables, options));
  const { name, customers, rows, columns, missingIndex } = table;
  const inRows = rows === customers ? '' : ` in ${countText(rows)} rows`;
  say(`Table ${name}: ${counted(customers, 'customer')}${inRows} (${columns.join(', ')})`);
  if (missingIndex !== null) printMessage(`${name} ${NO_INDEX}: ${missingIndex}`);
  const progress = startProgress('Stripe');
  const findings = await audit({
    ...{ database, table, stripeApi, signal: stopSignal(), onProgress: progress.show },
    rules: { ...table, ...options },
  }).finally(progress.clear);
  say(progress.text(counted(findings.subscriptions, 'subscription'), 1));
  report(findings, table, options);
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

const shown = (cell: string | null) => printable(cell ?? '');

/** Prints what was found, for people or for programs. */
function report(findings: Findings, { name, columns, ...table }: AuditedTable, options: Options) {
  const { subscriptions, rules, productNames } = findings;
  const countOf = (code: Code) => findings.found.get(code)?.count ?? 0;
  const { customers, rows } = table;
  const ownPlans = countOf('own_plan');
  const wrong = CODES.reduce((sum, code) => sum + countOf(code), 0);
  const right = rows - wrong + countOf('not_in_table');
  const all = CODES.flatMap((code) => findings.found.get(code)?.rows ?? []);
  const differences = all.slice(0, options.limit);
  if ((options.json || options.csv || options.list) && differences.length < wrong)
    printMessage(
      `${countText(differences.length)} of ${counted(wrong, 'difference')} printed: set --limit`,
    );
  if (wrong > 0) process.exitCode = DIFFERENCES_FOUND;
  if (options.json) {
    const byCode = Object.fromEntries(CODES.map((code) => [code, countOf(code)]));
    const counts = { customers, rows, subscriptions, right, ownPlans, ...byCode };
    const plans = Object.fromEntries(rules.plans);
    const named = differences.map((one) =>
      Object.fromEntries(HEADINGS.map((heading, index) => [heading, one[index]])),
    );
    print(JSON.stringify({ version: 1, table: name, columns, counts, plans, rows: named }));
    return;
  }
  if (options.csv) {
    process.stdout.write([HEADINGS, ...differences].map(csvLine).join(''));
    return;
  }
  for (const [plan, products] of rules.plans) {
    const meant = products.map((one) => `${one} (${productNames.get(one) ?? 'no name'})`);
    print(`  ${printable(plan)} = ${printable(meant.join(', ') || 'no plan')}`);
  }
  const own = ownPlans === 0 ? '' : `, ${countText(ownPlans)} of them with a plan of your own`;
  for (const code of CODES) {
    if (code === 'not_in_table')
      print(`${countText(right)} of ${countText(rows)} are right${own}.`);
    const count = countOf(code);
    const text = TEXTS[code].replace(/\((.+?)\|(.+?)\)/g, count === 1 ? '$1' : '$2');
    if (count > 0) print(`${countText(count).padStart(8)}  ${text.padEnd(62)}  ${code}`);
  }
  if (options.list) {
    const layout = HEADINGS.map((heading) => [heading, 18] as const);
    print(tableHead(layout));
    for (const row of differences) print(tableLine(layout, row.map(shown)));
  }
  if (countOf('unknown_customer') > 0) print(OTHER_ACCOUNT);
  print('Details: --list, --json, --csv. Nothing was written.');
  if (wrong > 0) print('instep init keeps it so.');
}
