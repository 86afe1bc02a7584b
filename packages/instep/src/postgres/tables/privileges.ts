import { PLAN_FIELDS } from '../../core/transition.ts';
import type { RecognizedColumn, RecognizedTable } from './recognize-tables.ts';

/** The privileges that Instep needs on a table, in the syntax of `grant`: `select on public.users`. */
export function neededPrivileges({ role, table, columns }: RecognizedTable): string[] {
  const written = role === 'teams' ? columns.filter(isWritten) : [];
  return [
    `usage on schema ${table.schemaSql}`,
    ...onColumns('select', columns, table),
    ...onColumns('update', written, table),
  ];
}

/** The needed privileges that the role lacks, except on columns that Instep can do without. */
export function lackingPrivileges({ role, table, columns }: RecognizedTable): string[] {
  const needed = columns.filter(({ isOptional }) => !isOptional);
  const unreadable = needed.filter(({ column }) => column?.canRead === false);
  const unwritable = role === 'users' ? [] : needed.filter(isWritten).filter(isUnwritable);
  return [
    ...(table.isSchemaUsable ? [] : [`usage on schema ${table.schemaSql}`]),
    ...selectOn(table, unreadable, needed),
    ...onColumns('update', unwritable, table),
  ];
}

/** Nothing when the table has none of the columns. */
function onColumns(
  privilege: 'select' | 'update',
  columns: readonly RecognizedColumn[],
  table: RecognizedTable['table'],
): string[] {
  const names = namesOf(columns);
  return names === '' ? [] : [`${privilege} (${names}) on ${table.sql}`];
}

/** Names no columns where all of them are needed. */
function selectOn(
  table: RecognizedTable['table'],
  unreadable: readonly RecognizedColumn[],
  needed: readonly RecognizedColumn[],
): string[] {
  const isAll = unreadable.length === needed.length;
  return isAll ? [`select on ${table.sql}`] : onColumns('select', unreadable, table);
}

const WRITTEN: readonly string[] = [...PLAN_FIELDS, 'updatedAt'];

function isWritten({ field, column }: RecognizedColumn): boolean {
  return WRITTEN.includes(field) && column?.isUpdatable === true;
}

const isUnwritable = ({ column }: RecognizedColumn) => column?.canWrite === false;

function namesOf(columns: readonly RecognizedColumn[]): string {
  return columns.flatMap(({ column }) => column?.sql ?? []).join(', ');
}
