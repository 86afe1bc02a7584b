import pg from 'pg';
import type { Query } from '../statement.ts';
import type {
  ApplicationTable,
  ApplicationTables,
  DeclaredTables,
  IdType,
} from './application-tables.ts';
import { contractColumn } from './fields.ts';
import { type RecognizedTable, recognize } from './recognize.ts';

const { escapeIdentifier: quoted } = pg;

/**
 * Finds the application's tables by the names that apps usually give them, or by the declared ones.
 *
 * @throws ApplicationTablesUnfit with everything that is missing or has an unusable type
 */
export async function findApplicationTables(
  query: Query,
  declared: DeclaredTables,
): Promise<ApplicationTables> {
  const { users, teams, unfit } = await recognize(query, declared);
  if (unfit !== null) throw unfit;
  if (users === null || teams === null) throw new RangeError('a missing table is unfit');
  const teamName = columnOf(teams, 'name');
  const hasNames = teamName?.canRead ?? false;
  const name = hasNames && teamName !== null ? `${quoted(teamName.name)}::text` : 'null::text';
  return {
    users: tableOf(users),
    teams: { ...tableOf(teams, `${name} as name`), hasNames, touch: touchOf(teams) },
  };
}

function tableOf<Field extends string>(
  recognized: RecognizedTable,
  ...computed: readonly string[]
): ApplicationTable<Field> {
  const { table, columns } = recognized;
  const name = `${quoted(table.schema)}.${quoted(table.name)}`;
  const selected = columns
    .filter(({ isOptional }) => !isOptional)
    .map((one) => `${quoted(one.name)} as ${contractColumn(one.field)}`);
  return {
    name,
    column(field) {
      const column = columnOf(recognized, field);
      if (column === null) throw new RangeError(`${name} has no column for ${field}`);
      return quoted(column.name);
    },
    rows: `(select ${[...selected, ...computed].join(', ')} from ${name})`,
    idType: idTypeOf(columnOf(recognized, 'id')?.type ?? ''),
  };
}

function columnOf({ columns }: RecognizedTable, field: string) {
  return columns.find((one) => one.field === field)?.column ?? null;
}

function idTypeOf(type: string): IdType {
  if (type === 'uuid') return 'uuid';
  return ['smallint', 'integer', 'bigint'].includes(type) ? 'bigint' : 'text';
}

/** In a `timestamp` without a time zone ORMs write UTC, whatever the session's zone is. */
function touchOf(teams: RecognizedTable): string {
  const column = columnOf(teams, 'updatedAt');
  if (!column?.canWrite) return '';
  const now = column.type === 'timestamp without time zone' ? "timezone('UTC', now())" : 'now()';
  return `, ${quoted(column.name)} = ${now}`;
}
