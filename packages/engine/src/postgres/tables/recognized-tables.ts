// A table that was recognized, as statements name it, and what its columns can't do.

import { CONTRACT_FIELDS } from '../../rule/plan-fields.ts';
import { nameOfPlan, type TeamsTable } from '../teams-table.ts';
import {
  type ApplicationTable,
  type ApplicationTables,
  contractColumn,
  type Entity,
  type IdType,
} from './application-tables.ts';
import type { Column, Table } from './read-tables.ts';

/** A field and the column that was recognized as it. */
export type RecognizedColumn = {
  readonly field: string;
  /** The column's name, or the expected one when it is missing. */
  readonly name: string;
  /** `null` when it is missing. */
  readonly column: Column | null;
  /** Whether Instep works without it. */
  readonly isOptional: boolean;
  /** Why Instep can't use the table with this column; `null` when it can. */
  readonly problem: string | null;
};

export type RecognizedTable = {
  readonly entity: Entity;
  readonly table: Table;
  readonly columns: readonly RecognizedColumn[];
};

/** The statement after which a column can be null. */
export const dropNotNull = (table: Table, column: Column) =>
  `alter table ${table.sql} alter column ${column.sql} drop not null;`;

/** A column that can't be null, and what Instep does without. `null` if the names of plans can be cleared. */
export function keptPlanName(teams: RecognizedTable): { text: string; statement: string } | null {
  const column = columnOf(teams, 'planName');
  if (column === null || column.isNullable) return null;
  const text = `${teams.table.sql}.${column.sql} can't be null: a canceled team keeps the name of its plan there`;
  return { text, statement: dropNotNull(teams.table, column) };
}

const teamsTables = new WeakMap<ApplicationTables, TeamsTable>();

/** The table of teams as the engine names it: the same object as long as the tables are the same. */
export function teamsTableOf(tables: ApplicationTables): TeamsTable {
  const known = teamsTables.get(tables);
  if (known !== undefined) return known;
  const { name, column, idType, setUpdatedAt, keepsPlanName } = tables.teams;
  const made: TeamsTable = {
    name,
    id: { column: column('id'), type: idType },
    customerId: column('providerCustomerId'),
    plan: new Map(CONTRACT_FIELDS.map((field) => [field, column(field)])),
    keepsPlanName,
    updatedAt: setUpdatedAt === '' ? null : column('updatedAt'),
  };
  teamsTables.set(tables, made);
  return made;
}

export function tableOf<Field extends string>(
  recognized: RecognizedTable,
  ...computed: readonly string[]
): ApplicationTable<Field> {
  const { entity, table, columns } = recognized;
  const columnValue = (field: string) => unpadded(entity, columnOf(recognized, field));
  const keepsName = entity === 'teams' && keptPlanName(recognized) !== null;
  const selected = columns
    .filter(({ isOptional }) => !isOptional || entity === 'users')
    .map(({ field }) => {
      const value =
        field === 'planName' && keepsName ? nameOfPlan(columnValue) : columnValue(field);
      return `${value} as ${contractColumn(field)}`;
    });
  return {
    name: table.sql,
    column(field) {
      const column = columnOf(recognized, field);
      if (column === null) throw new RangeError(`${table.sql} has no column for ${field}`);
      return column.sql;
    },
    has: (field) => columnOf(recognized, field) !== null,
    rows: `(select ${[...selected, ...computed].join(', ')} from ${table.sql})`,
    idType: idTypeOf(columnOf(recognized, 'id')?.type ?? ''),
  };
}

/**
 * PostgreSQL pads the values of `char(n)`, and a padded id or status would be a different one. Profiles keep
 * the padding.
 */
function unpadded(entity: Entity, column: Column | null): string {
  if (column === null) return 'null::text';
  const isPadded = entity === 'teams' && column.type === 'character';
  return isPadded ? `${column.sql}::text` : column.sql;
}

export function columnOf({ columns }: RecognizedTable, field: string) {
  return columns.find((one) => one.field === field)?.column ?? null;
}

function idTypeOf(type: string): IdType {
  if (type === 'uuid') return 'uuid';
  return ['smallint', 'integer', 'bigint'].includes(type) ? 'bigint' : 'text';
}

/** Sessions are in UTC, as ORMs write a `timestamp` without a time zone. */
export function updatedAtAssignment(teams: RecognizedTable): string {
  const column = columnOf(teams, 'updatedAt');
  return column?.canWrite && column.isUpdatable ? `, ${column.sql} = now()` : '';
}
