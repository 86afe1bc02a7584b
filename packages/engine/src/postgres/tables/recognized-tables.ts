// A table that was recognized, as statements name it, and what its columns can't do.

import { PLAN_FIELDS } from '../../rule/plan-fields.ts';
import {
  columnOf as columnOfField,
  fieldsOf,
  type PlanColumn,
  type TeamsTable,
  teamField,
} from '../teams-table.ts';
import {
  type ApplicationTable,
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

/** What Instep writes to which table, for people: `public.teams (by stripe_customer_id): plan_name, subscription_status`. */
export function writtenText(teams: RecognizedTable): string {
  const { name, customerId, plan, updatedAt } = teamsTableOf(teams);
  const written = [...[...plan.values()].map((column) => column.name), updatedAt ?? []].flat();
  return `${name} (by ${customerId}): ${written.join(', ')}`;
}

/** The table of teams as the engine names it. */
export function teamsTableOf(teams: RecognizedTable): TeamsTable {
  const plan = PLAN_FIELDS.flatMap(({ name, type }) => {
    const column = columnOf(teams, name);
    return column === null ? [] : [[name, planColumn(column, type)] as const];
  });
  const updatedAt = columnOf(teams, 'updatedAt');
  const id = columnOf(teams, 'id');
  return {
    name: teams.table.sql,
    id: { column: id?.sql ?? '', type: idTypeOf(id) },
    customerId: columnOf(teams, 'providerCustomerId')?.sql ?? '',
    plan: new Map(plan),
    updatedAt: updatedAt?.canWrite && updatedAt.isUpdatable ? updatedAt.sql : null,
  };
}

function planColumn(
  { sql: name, category, type, isNullable }: Column,
  fieldType: string,
): PlanColumn {
  return { name, isNullable, type: typeOf(type, category, fieldType) };
}

function typeOf(type: string, category: string, fieldType: string): string {
  if (fieldType === 'text') {
    if (category === 'E') return type;
    return isPadded(type) ? 'bpchar' : 'text';
  }
  if (fieldType !== 'timestamptz') return type;
  if (category === 'N') return 'bigint';
  return type === 'timestamp without time zone' ? 'timestamp' : 'timestamptz';
}

/** PostgreSQL pads the values of `char(n)`, and a padded id or status would be a different one. */
const isPadded = (type: string) => type === 'character';

/** The rows of a table of users or members. Profiles keep the padding of `char(n)`. */
export function tableOf<Field extends string>(
  recognized: RecognizedTable,
): ApplicationTable<Field> {
  const selected = recognized.columns.map(
    ({ field, column }) => `${column?.sql ?? 'null::text'} as ${contractColumn(field)}`,
  );
  return tableWith(recognized, selected);
}

/** The rows of the table of teams: all fields of a plan, of which those without a column are null. */
export function teamRows<Field extends string>(
  recognized: RecognizedTable,
  table: TeamsTable,
  name: string,
): ApplicationTable<Field> {
  const present = new Set(fieldsOf(table));
  const ids = ['id', 'providerCustomerId'].map((field) => {
    const column = columnOf(recognized, field);
    const sql = isPadded(column?.type ?? '') ? `${column?.sql}::text` : column?.sql;
    return `${sql} as ${contractColumn(field)}`;
  });
  const plan = PLAN_FIELDS.map((field) => {
    const value = present.has(field) ? teamField(table, field) : `null::${field.type}`;
    return `${value} as ${columnOfField(field)}`;
  });
  return tableWith(recognized, [...ids, ...plan, `${name} as name`]);
}

function tableWith<Field extends string>(
  recognized: RecognizedTable,
  selected: readonly string[],
): ApplicationTable<Field> {
  const { entity, table } = recognized;
  return {
    name: table.sql,
    column(field) {
      const column = columnOf(recognized, field);
      if (column === null) throw new RangeError(`${table.sql} has no column for ${field}`);
      return column.sql;
    },
    has: (field) => columnOf(recognized, field) !== null,
    rows: `(select ${selected.join(', ')} from ${table.sql} as ${entity})`,
    idType: idTypeOf(columnOf(recognized, 'id')),
  };
}

export function columnOf({ columns }: RecognizedTable, field: string) {
  return columns.find((one) => one.field === field)?.column ?? null;
}

function idTypeOf(column: Column | null): IdType {
  const type = column?.type ?? '';
  if (type === 'uuid') return 'uuid';
  return ['smallint', 'integer', 'bigint'].includes(type) ? 'bigint' : 'text';
}
