// The command `instep audit`: its options, its progress, and what it prints in the end, for people and for programs.

import { setFlagsFromString } from 'node:v8';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Database, DatabaseServer, WantedTables } from 'instep-engine/postgres';
import { counted, countText } from 'instep-engine/runtime';
import { csvLine } from 'instep-operate';
import { Audit, type Difference } from '../audit/audit.ts';
import { type AuditedTable, findAuditedTable, NAMES, type Named } from '../audit/audited-table.ts';
import type { Rules } from '../audit/judge-row.ts';
import { readPart } from '../config/config.ts';
import { createCommand, positiveInteger } from './arguments.ts';
import { print, printable, printMessage, showProgress, stopSignal, writeRows } from './output.ts';
import { requireDatabase, withDatabase } from './with-database.ts';

type Options = Named &
  Pick<Rules, 'pastDue'> & { plans?: Rules['plans']; limit?: number } & {
    [Flag in 'json' | 'csv' | 'list']?: boolean;
  };

export function auditCommand(): Command {
  const command = createCommand(
    'audit',
    'compare any table of customers with Stripe, and write nothing',
    'STRIPE_SECRET_KEY=rk_… DATABASE_URL=postgres://… instep audit',
  ).option('--table <name>', 'the table, such as app.organizations, if it is not recognized');
  for (const name of NAMES) {
    command.option(`--${name} <column>`, `the column with the ${name}, if it is not recognized`);
  }
  return command
    .option('--plans <pairs>', 'products by plan: pro=prod_1,team=prod_2,free=', plansIn)
    .addOption(
      new Option('--past-due <how>', 'what a plan does whose payment is due')
        .choices(['keep', 'ended'])
        .default('keep'),
    )
    .option('--list', 'also print each difference')
    .option('--json', 'print one JSON object')
    .option('--csv', 'print the differences as CSV')
    .option('--limit <n>', 'at most this many differences', positiveInteger)
    .action(runAudit);
}

function plansIn(text: string): Rules['plans'] {
  const plans = new Map<string, string[]>();
  for (const pair of text.split(',')) {
    const [, name, productId] = /^(.+)=(prod_\w+)?$/.exec(pair.trim()) ?? [];
    if (name === undefined) throw new InvalidArgumentError('must be like pro=prod_1,team=prod_2.');
    plans.set(name, [...(plans.get(name) ?? []), productId ?? []].flat());
  }
  return plans;
}

async function runAudit(options: Options): Promise<void> {
  // Nearly all of what a page of Stripe's list takes is garbage at once, and V8 would let the heap grow fourfold first.
  if (!process.versions.bun) setFlagsFromString('--optimize-for-size');
  await requireDatabase();
  const audit = (database: Database, { tables }: DatabaseServer) =>
    auditOn(database, tables, options);
  // A table of millions of rows takes seconds to read.
  const reading = { migratesEmbedded: false, statementTimeoutMs: 120_000, isReadOnly: true };
  await withDatabase(audit, reading);
}

async function auditOn(
  database: Database,
  declared: WantedTables,
  options: Options,
): Promise<void> {
  const stripeApi = readPart('stripeApi', process.env);
  const table = await database.transaction((query) => findAuditedTable(query, declared, options));
  const { name, columns, customers, missingIndex } = table;
  const say = options.json || options.csv ? () => undefined : print;
  say(`Table ${name}: ${counted(customers, 'customer')} (${columns.join(', ')})`);
  if (missingIndex !== null) printMessage(`${name} ${NO_INDEX}: ${missingIndex}`);
  const startedAtMs = Date.now();
  const listed = (count: number, share: number) => {
    const bar = '█'.repeat(Math.round(share * 10)).padEnd(10, '░');
    const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
    return `Stripe: ${counted(count, 'subscription')} ${bar} ${Math.round(share * 100)} %  ${seconds} s`;
  };
  const audit = new Audit({
    ...{ plans: new Map(), ...options, database, table, stripeApi, signal: stopSignal() },
    // How long the list is can only be guessed before its end.
    onListed: (count) => showProgress(listed(count, Math.min(count / customers, 0.99))),
    onAsked: (count, of) =>
      showProgress(`Stripe: asked for ${count} of ${counted(of, 'customer')} not in its list`),
  });
  await audit.run().finally(() => showProgress(''));
  say(listed(audit.subscriptions, 1));
  await printFound(audit, table, options);
}

const NO_INDEX = 'has no index on the customer, so Instep would read all of it for each event';

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
} satisfies Record<Exclude<Difference['code'], 'own_plan'>, string>;

type Shown = Readonly<Record<string, string | null>>;

/** A difference as it is listed, for people and for programs. */
const shown = ({ code, row, stripe }: Difference): Shown => ({
  ...{ code, id: row.id ?? null },
  ...Object.fromEntries(NAMES.map((name) => [name, row[name] ?? null])),
  stripe_status: stripe?.status ?? null,
  stripe_product: stripe?.productId ?? null,
  stripe_price: stripe?.priceId ?? null,
  stripe_subscription: stripe?.subscriptionId ?? null,
});

const HEADINGS = Object.keys(shown({ code: 'ended', row: {}, stripe: undefined }));

async function printFound(
  { differences, plans, subscriptions }: Audit,
  { name, columns, customers }: AuditedTable,
  { json, csv, list, limit }: Options,
): Promise<void> {
  const byCode = Object.entries(TEXTS).map(([code, text]) => {
    return { code, text, found: differences.filter((one) => one.code === code) };
  });
  const found = byCode.flatMap((one) => one.found);
  const counts = Object.fromEntries(byCode.map(({ code, found }) => [code, found.length]));
  const ownPlans = differences.length - found.length;
  const right = customers - found.length + (counts.not_in_table ?? 0);
  const rows = found.slice(0, limit).map(shown);
  if (found.length > 0) process.exitCode = DIFFERENCES_FOUND;
  if (json) {
    const totals = { customers, subscriptions, right, ownPlans, ...counts };
    const about = { version: 1, table: name, columns, counts: totals };
    return print(JSON.stringify({ ...about, plans: Object.fromEntries(plans), rows }));
  }
  if (csv) {
    const lines = [HEADINGS, ...rows.map((one) => Object.values(one))];
    return void process.stdout.write(lines.map(csvLine).join(''));
  }
  for (const [plan, products] of plans)
    print(`  ${printable(plan)} = ${printable(products.join(', ') || 'no plan')}`);
  const own = ownPlans === 0 ? '' : `, ${countText(ownPlans)} of them with a plan of your own`;
  for (const { code, text, found } of byCode) {
    if (code === 'not_in_table')
      print(`${countText(right)} of ${countText(customers)} are right${own}.`);
    const said = text.replace(/\((.+?)\|(.+?)\)/g, found.length === 1 ? '$1' : '$2');
    if (found.length > 0)
      print(`${countText(found.length).padStart(8)}  ${said.padEnd(62)}  ${code}`);
  }
  const filled = HEADINGS.filter((name) => rows.some((one) => one[name] !== null));
  const shownColumns = filled.map((name) => [name, 18, (one: Shown) => one[name] ?? null] as const);
  if (list) await writeRows({ columns: shownColumns, data: (one: Shown) => one }, rows, {});
  print('Details: --list, --json, --csv. Nothing was written.');
  if (found.length > 0) print('instep init keeps it so.');
}

const DIFFERENCES_FOUND = 3;
