import { PLAN_FIELDS } from '../../core/transition.ts';
import type { RecognizedColumn, RecognizedTable } from './recognize-tables.ts';

/** The privileges that Instep needs on a table, in the syntax of `grant`: `select on public.users`. */
export function neededPrivileges({ role, table, columns }: RecognizedTable): string[] {
  const read = columns.filter(({ column }) => column !== null);
  return [
    `usage on schema ${table.schemaSql}`,
    `select (${namesOf(read)}) on ${table.sql}`,
    ...(role === 'teams' ? [`update (${namesOf(columns.filter(isWritten))}) on ${table.sql}`] : []),
  ];
}

/** Those of them that the role lacks, without the columns that Instep can do without. */
export function lackingPrivileges({ role, table, columns }: RecognizedTable): string[] {
  const needed = columns.filter(({ isOptional }) => !isOptional);
  const unreadable = needed.filter(({ column }) => column?.canRead === false);
  const unwritable = role === 'users' ? [] : needed.filter(isWritten).filter(isUnwritable);
  return [
    ...(table.isSchemaUsable ? [] : [`usage on schema ${table.schemaSql}`]),
    ...selectOn(table, unreadable, needed),
    ...(unwritable.length === 0 ? [] : [`update (${namesOf(unwritable)}) on ${table.sql}`]),
  ];
}

/** Nothing is named where all is needed. */
function selectOn(
  table: RecognizedTable['table'],
  unreadable: readonly RecognizedColumn[],
  needed: readonly RecognizedColumn[],
): string[] {
  if (unreadable.length === 0) return [];
  const columns = unreadable.length === needed.length ? '' : ` (${namesOf(unreadable)})`;
  return [`select${columns} on ${table.sql}`];
}

const WRITTEN: readonly string[] = [...PLAN_FIELDS, 'updatedAt'];

function isWritten({ field, column }: RecognizedColumn): boolean {
  return WRITTEN.includes(field) && column?.isUpdatable === true;
}

const isUnwritable = ({ column }: RecognizedColumn) => column?.canWrite === false;

function namesOf(columns: readonly RecognizedColumn[]): string {
  return columns.flatMap(({ column }) => column?.sql ?? []).join(', ');
}
