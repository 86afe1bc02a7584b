import type { Query } from '../statement.ts';
import type {
  ApplicationTable,
  ApplicationTables,
  DeclaredTables,
  IdType,
} from './application-tables.ts';
import { contractColumn, type Role } from './fields.ts';
import {
  type Column,
  type Recognition,
  type RecognizedTable,
  recognizeTables,
} from './recognize-tables.ts';

/**
 * Finds the application's tables by the names that apps usually give them, or by the declared ones.
 *
 * @throws ApplicationTablesUnfit with everything that is missing or has an unusable type
 */
export async function findApplicationTables(
  query: Query,
  declared: DeclaredTables,
): Promise<ApplicationTables> {
  return applicationTablesOf(await recognizeTables(query, declared));
}

/** @throws ApplicationTablesUnfit */
export function applicationTablesOf({ users, teams, unfit }: Recognition): ApplicationTables {
  if (unfit !== null) throw unfit;
  if (users === null || teams === null) throw new RangeError('a missing table is unfit');
  const teamName = columnOf(teams, 'name');
  const hasNames = teamName?.canRead ?? false;
  const name = hasNames && teamName !== null ? `${teamName.sql}::text` : 'null::text';
  return {
    users: tableOf(users),
    teams: {
      ...tableOf(teams, `${name} as name`),
      hasNames,
      returnsUpdates: !teams.table.isView && !teams.table.hasUpdateRules,
      setUpdatedAt: updatedAtAssignment(teams),
    },
  };
}

function tableOf<Field extends string>(
  recognized: RecognizedTable,
  ...computed: readonly string[]
): ApplicationTable<Field> {
  const { role, table, columns } = recognized;
  const selected = columns
    .filter(({ isOptional }) => !isOptional)
    .map(({ field, column }) => `${unpadded(role, column)} as ${contractColumn(field)}`);
  return {
    name: table.sql,
    column(field) {
      const column = columnOf(recognized, field);
      if (column === null) throw new RangeError(`${table.sql} has no column for ${field}`);
      return column.sql;
    },
    rows: `(select ${[...selected, ...computed].join(', ')} from ${table.sql})`,
    idType: idTypeOf(columnOf(recognized, 'id')?.type ?? ''),
  };
}

/**
 * PostgreSQL pads the values of `char(n)`, and a padded id or status would be a different one. Profiles keep
 * the padding.
 */
function unpadded(role: Role, column: Column | null): string {
  const isPadded = role === 'teams' && column?.type === 'character';
  return isPadded ? `${column.sql}::text` : `${column?.sql}`;
}

function columnOf({ columns }: RecognizedTable, field: string) {
  return columns.find((one) => one.field === field)?.column ?? null;
}

function idTypeOf(type: string): IdType {
  if (type === 'uuid') return 'uuid';
  return ['smallint', 'integer', 'bigint'].includes(type) ? 'bigint' : 'text';
}

/** Sessions are in UTC, as ORMs write a `timestamp` without a time zone. */
function updatedAtAssignment(teams: RecognizedTable): string {
  const column = columnOf(teams, 'updatedAt');
  return column?.canWrite && column.isUpdatable ? `, ${column.sql} = now()` : '';
}
