// The command `instep audit`: its options, its progress, and what it prints in the end, for people and for programs.

import { setFlagsFromString } from 'node:v8';
import { type Command, Option } from 'commander';
import type { Database, WantedTables } from 'instep-engine/postgres';
import { explainFailure, limitRate } from 'instep-engine/repair';
import { counted, countText } from 'instep-engine/runtime';
import { createGet } from 'instep-engine/stripe';
import { csvLine } from 'instep-operate';
import { audit } from '../audit/audit.ts';
import {
  type AuditedTable,
  type AuditOptions,
  findAuditedTable,
  NAMES,
} from '../audit/audited-table.ts';
import { type Code, type Findings, HEADINGS, SENTENCES } from '../audit/findings.ts';
import { readPart } from '../config/config.ts';
import { createCommand, positiveInteger, productsByPlan } from './arguments.ts';
import { print, printable, printMessage, startProgress, stopSignal, writeRows } from './output.ts';
import { requireDatabase, withDatabase } from './with-database.ts';

type Options = AuditOptions & { [Flag in 'json' | 'csv' | 'list']?: boolean };

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

const NO_INDEX = 'has no index on the customer, so each event would read all of it';
const OTHER_ACCOUNT = 'Customers of another account or mode: audit them with their own key.';
const DIFFERENCES_FOUND = 3;

const CODES = Object.keys(SENTENCES) as (keyof typeof SENTENCES)[];

async function run(options: Options): Promise<void> {
  // Nearly all of a page of Stripe's list is garbage at once, and V8 would let the heap grow fourfold first.
  if (!process.versions.bun) setFlagsFromString('--optimize-for-size --semi-space-growth-factor=1');
  await requireDatabase();
  // A table of millions of rows takes seconds to read.
  const reading = { migratesEmbedded: false, statementTimeoutMs: 120_000, isReadOnly: true };
  await withDatabase(
    (database, { tables }) => explainFailure(runOn(database, tables, options)),
    reading,
  );
}

async function runOn(database: Database, tables: WantedTables, options: Options): Promise<void> {
  const isForPeople = !options.json && !options.csv;
  const say = isForPeople ? print : () => undefined;
  const { get } = limitRate({ get: createGet(readPart('stripeApi', process.env)) });
  const table = await database.transaction((query) => findAuditedTable(query, tables, options));
  const { name, customers, rows, columns, missingIndex } = table;
  const inRows = rows === customers ? '' : ` in ${countText(rows)} rows`;
  say(`Table ${name}: ${counted(customers, 'customer')}${inRows} (${columns.join(', ')})`);
  if (missingIndex !== null) printMessage(`${name} ${NO_INDEX}: ${missingIndex}`);
  const progress = startProgress('Stripe');
  const asking = { get, signal: stopSignal(), onProgress: progress.show };
  const { findings, plans } = await audit(database, table, asking).finally(progress.clear);
  say(progress.text(counted(findings.subscriptions, 'subscription'), 1));
  for (const [plan, products] of plans)
    say(printable(`  ${plan} = ${products.join(', ') || 'no plan'}`));
  await report(findings, { ...table, plans }, options);
}

/** Prints what was found, for people or for programs. */
async function report(findings: Findings, table: AuditedTable, options: Options): Promise<void> {
  const { json, csv, list } = options;
  const { subscriptions, counts: found, differences: kept } = findings;
  const { name, customers, rows, columns, plans } = table;
  const countOf = (code: Code) => found.get(code) ?? 0;
  const wrong = CODES.reduce((sum, code) => sum + countOf(code), 0);
  const right = rows - wrong + countOf('not_in_table');
  const ownPlans = countOf('own_plan');
  const differences = CODES.flatMap((code) => kept.filter((one) => one.code === code));
  if ((json || csv || list) && differences.length < wrong) {
    const printed = countText(differences.length);
    printMessage(`${printed} of ${counted(wrong, 'difference')} printed: set --limit`);
  }
  if (wrong > 0) process.exitCode = DIFFERENCES_FOUND;
  if (json) {
    const byCode = Object.fromEntries(CODES.map((code) => [code, countOf(code)]));
    const counts = { customers, rows, subscriptions, right, ownPlans, ...byCode };
    const result = { version: 1, table: name, columns, counts, plans: Object.fromEntries(plans) };
    print(JSON.stringify({ ...result, rows: differences }));
    return;
  }
  if (csv) {
    const lines = [HEADINGS, ...differences.map((row) => Object.values(row))];
    process.stdout.write(lines.map(csvLine).join(''));
    return;
  }
  const own = ownPlans === 0 ? '' : `, ${countText(ownPlans)} of them with a plan of your own`;
  for (const code of CODES) {
    if (code === 'not_in_table')
      print(`${countText(right)} of ${countText(rows)} are right${own}.`);
    const count = countOf(code);
    const text = SENTENCES[code].replace(/\((.+?)\|(.+?)\)/g, count === 1 ? '$1' : '$2');
    if (count > 0) print(`${countText(count).padStart(8)}  ${text.padEnd(62)}  ${code}`);
  }
  const listColumns = HEADINGS.map((heading) => [heading, 18] as const);
  if (list)
    await writeRows({ columns: listColumns, data: (row) => row }, differences, { limit: wrong });
  if (countOf('unknown_customer') > 0) print(OTHER_ACCOUNT);
  print('Details: --list, --json, --csv. Nothing was written.');
  if (wrong > 0) print('instep init keeps it so.');
}
