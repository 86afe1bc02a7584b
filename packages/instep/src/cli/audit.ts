// The command `instep audit`: its options, and what it shows meanwhile. audit-result.ts prints what it has found.

import { setFlagsFromString } from 'node:v8';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Database, DatabaseServer, WantedTables } from 'instep-engine/postgres';
import { counted } from 'instep-engine/runtime';
import { Audit } from '../audit/audit.ts';
import { type ColumnOption, FIELD_OF, findAuditedTable } from '../audit/audited-table.ts';
import { ConfigInvalid, readApiConfig } from '../config/config.ts';
import { createCommand, positiveInteger } from './arguments.ts';
import { type AuditFormat, printAudit } from './audit-result.ts';
import { CommandFailed, print, printMessage, showProgress, stopSignal } from './output.ts';
import { hasDatabase, onDatabase, withServer } from './with-database.ts';

type Plans = ReadonlyMap<string, readonly string[]>;

type Options = AuditFormat & { pastDue: 'keep' | 'ended'; plans?: Plans } & Partial<
    Record<'table' | ColumnOption, string>
  >;

export function auditCommand(): Command {
  const command = createCommand(
    'audit',
    'compare any table of customers with Stripe, and write nothing',
    'STRIPE_SECRET_KEY=rk_… DATABASE_URL=postgres://… instep audit',
  ).option('--table <name>', 'the table, such as app.organizations, if it is not recognized');
  for (const name of Object.keys(FIELD_OF)) {
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

function plansIn(text: string): Plans {
  const plans = new Map<string, string[]>();
  for (const pair of text.split(',')) {
    const [, name, productId] = /^(.+)=(prod_\w+)?$/.exec(pair.trim()) ?? [];
    if (name === undefined) throw new InvalidArgumentError('must be like pro=prod_1,team=prod_2.');
    plans.set(name, [...(plans.get(name) ?? []), ...(productId === undefined ? [] : [productId])]);
  }
  return plans;
}

/** A table of millions of rows takes seconds to read. */
const STATEMENT_TIMEOUT_MS = 120_000;

const DIFFERENCES_FOUND = 3;

const NO_INDEX = 'has no index on the customer, so Instep would read all of it for each event';

async function runAudit(options: Options): Promise<void> {
  // Nearly all of what a page of Stripe's list takes is garbage at once, and V8 would let the heap grow fourfold first.
  if (!process.versions.bun) setFlagsFromString('--optimize-for-size');
  if (!(await hasDatabase())) {
    const remedy = "set it to the URL of your app's PostgreSQL";
    throw new ConfigInvalid([{ variable: 'DATABASE_URL', problem: 'is missing', remedy }]);
  }
  const stripeApi = readApiConfig(process.env);
  const reading = { statementTimeoutMs: STATEMENT_TIMEOUT_MS, isReadOnly: true };
  const signal = stopSignal();
  await withServer((server) =>
    onDatabase(server, (database) => auditOn(server, database), reading),
  );

  async function auditOn({ tables }: DatabaseServer, database: Database): Promise<void> {
    const table = await findAuditedTable(database.query, wantedTables(tables, options));
    const { name, columns, customers, rows, missingIndex } = table;
    const isForPeople = !options.json && !options.csv;
    const inRows = rows === customers ? '' : ` in ${counted(rows, 'row')}`;
    const head = `Table ${name}: ${counted(customers, 'customer')}${inRows}`;
    if (isForPeople) print(`${head} (${columns.join(', ')})`);
    if (missingIndex !== null) printMessage(`${name} ${NO_INDEX}: ${missingIndex}`);
    const startedAtMs = Date.now();
    const listed = (count: number, share: number) => {
      const bar = '█'.repeat(Math.round(share * 10)).padEnd(10, '░');
      const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
      return `Stripe: ${counted(count, 'subscription')} ${bar} ${Math.round(share * 100)} %  ${seconds} s`;
    };
    const found = new Audit({
      ...{ plans: new Map(), ...options, database, table, stripeApi, signal, now: Date.now },
      limit: isForPeople && !options.list ? 0 : (options.limit ?? Number.POSITIVE_INFINITY),
      // How long the list is can only be guessed before its end.
      onListed: (count) => showProgress(listed(count, Math.min(count / customers, 0.99))),
      onAsked: (count, of) =>
        showProgress(`Stripe: asked for ${count} of ${counted(of, 'customer')} not in its list`),
    });
    await found.run().finally(() => showProgress(''));
    if (isForPeople) print(listed(found.subscriptions, 1));
    await printAudit(found, table, options);
    if (found.unreadable > 0) {
      const problem = `${counted(found.unreadable, 'subscription')} could not be read`;
      throw new CommandFailed('AUDIT_FAILED', `${problem}: upgrade Instep`);
    }
    if (found.counts.size > 0) process.exitCode = DIFFERENCES_FOUND;
  }
}

/** The declared tables, with what the options name. */
function wantedTables({ teams, ...tables }: WantedTables, options: Options): WantedTables {
  const [, schema, table] = /^(?:([^.]+)\.)?(.+)$/.exec(options.table ?? '') ?? [];
  const columns = Object.entries(FIELD_OF).flatMap(([name, field]) => {
    const column = options[name as ColumnOption];
    return column === undefined ? [] : [[field, column] as const];
  });
  const named = { columns: { ...teams?.columns, ...Object.fromEntries(columns) } };
  return { ...tables, teams: { ...teams, ...(table && { schema, table }), ...named } };
}
