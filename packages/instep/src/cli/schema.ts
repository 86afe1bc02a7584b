// The commands about the database's schema: which of the app's tables are recognized, and its migration.

import type { Command } from 'commander';
import {
  findHiddenRows,
  type HiddenRows,
  neededPrivileges,
  type RecognizedColumn,
  type RecognizedTable,
  recognizeTables,
} from 'instep-engine/postgres';
import { describeDatabase, readPart } from '../config/config.ts';
import { ownPrivileges, quoteRole } from '../doctor/schema.ts';
import { createCommand } from './arguments.ts';
import {
  type Columns,
  type Json,
  paint,
  printData,
  printMessage,
  tableHead,
  tableLine,
} from './output.ts';
import { migrate, withDatabase } from './with-database.ts';

export function tablesCommand(): Command {
  return createCommand(
    'tables',
    "show which of your app's tables and columns Instep recognizes, and which grants it needs",
    'instep tables --role instep',
  )
    .option(
      '--role <name>',
      'role to print the grants for (default: the one that Instep connects as)',
    )
    .action(tables);
}

/** Needs no privilege on the tables, so that any role can run it. */
export async function tables({ role }: { role?: string }): Promise<void> {
  const { recognition, roleName, hidden, own } = await withDatabase(async ({ query }, server) => {
    const recognition = await recognizeTables(query, server.tables);
    const roleName = await quoteRole(query, role ?? null);
    return {
      recognition,
      roleName,
      hidden: await findHiddenRows(query, recognition, role ?? null),
      own: (await ownPrivileges(query)).map(({ privilege }) => privilege),
    };
  });
  if (own.length === 0) {
    printMessage('the schema instep is missing: run `instep migrate`, and this again');
  }
  const found = [recognition.users, recognition.teams].filter((table) => table !== null);
  const needed = found.flatMap((table) => neededPrivileges(table, 'all'));
  const grants = [...new Set([...needed, ...own])].map(
    (privilege) => `grant ${privilege} to ${roleName};`,
  );
  process.stdout.write(textOf(found, grants, hidden));
  if (recognition.unfit !== null) throw recognition.unfit;
}

function textOf(
  found: readonly RecognizedTable[],
  grants: readonly string[],
  hidden: readonly HiddenRows[],
): string {
  const blocks = found.map(({ table, columns }) => {
    const rows = columns.map(rowOf);
    const widths: Columns = ['field', 'column', 'type'].map((name, index) => [
      name,
      Math.max(name.length, ...rows.map((row) => row[index]?.length ?? 0)),
    ]);
    const lines = [tableHead(widths), ...rows.map((row) => tableLine(widths, row))];
    const title = `${paint('bold', table.sql)}${table.isView ? ' (a view)' : ''}`;
    return `${[title, ...lines.map((line) => `  ${line}`)].join('\n')}\n`;
  });
  const policies = hidden.map(
    ({ text, policy, bypass }) => `-- ${text}\n${policy}\n-- or: ${bypass}\n`,
  );
  return [...blocks, grants.map((grant) => `${grant}\n`).join(''), ...policies].join('\n');
}

function rowOf({ field, name, column, isOptional, problem }: RecognizedColumn): string[] {
  if (column === null) return [field, '-', isOptional ? 'none (optional)' : `${name} is missing`];
  return [field, name, problem === null ? column.type : `${column.type}: ${problem}`];
}

type MigrateOptions = Json & { readonly createTables?: boolean };

export function migrateCommand(): Command {
  return createCommand(
    'migrate',
    'bring the database schema up to date (the server also does this when it starts)',
    'DATABASE_URL=postgres://… instep migrate',
  )
    .option('--create-tables', 'also create users and teams, for an app that has neither')
    .option('--json', 'print JSON')
    .action(async ({ createTables, ...output }: MigrateOptions) => {
      const creates = createTables === undefined ? {} : { createsTables: createTables };
      const applied = await migrate({ ...creates, onWarning: printMessage });
      const config = readPart('database', process.env);
      // An empty DATABASE_URL must not go unnoticed.
      if (config.address === null) printMessage(describeDatabase(config));
      printData({ applied: applied.join(', ') || 'nothing; the schema is up to date' }, output);
    });
}
