// The tables that were recognized, as statements name them.

import { PLAN_FIELDS } from '../../rule/plan-fields.ts';
import { contractColumn, type PlanColumn, type TeamsTable, teamField } from '../teams-table.ts';
import type { ApplicationTables, Entity, IdType } from './application-tables.ts';
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

export function columnOf({ columns }: RecognizedTable, field: string): Column | null {
  return columns.find((one) => one.field === field)?.column ?? null;
}

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
  const { name, customerId, plan, updatedAt } = teamsOf(teams);
  const written = [...[...plan.values()].map((column) => column.name), updatedAt ?? []].flat();
  return `${name} (by ${customerId}): ${written.join(', ')}`;
}

function planColumn({ sql: name, category, type, isNullable }: Column, field: string): PlanColumn {
  if (field === 'text') return { name, isNullable, type: category === 'E' ? type : 'text' };
  if (field !== 'timestamptz') return { name, isNullable, type };
  const time = type === 'timestamp without time zone' ? 'timestamp' : 'timestamptz';
  return { name, isNullable, type: category === 'N' ? 'bigint' : time };
}

/** The table of users as statements name it. */
export function usersTableOf(users: RecognizedTable): NonNullable<ApplicationTables['users']> {
  const columns = users.columns.flatMap(({ field, column }) =>
    column === null ? [] : [[field, column.sql] as const],
  );
  const idType = idTypeOf(columnOf(users, 'id'));
  return { name: users.table.sql, idType, columns: new Map(columns), rows: rowsSql(users) };
}

/** The table of teams, whose rows have all fields of a plan. Those without a column are null. */
export function teamsOf(teams: RecognizedTable): ApplicationTables['teams'] {
  const columns = new Map(teams.columns.map(({ field, column }) => [field, column]));
  const sqlOf = (field: string) => columns.get(field)?.sql ?? '';
  const plan = PLAN_FIELDS.flatMap(({ name, type }) => {
    const column = columns.get(name);
    return column ? [[name, planColumn(column, type)] as const] : [];
  });
  const updatedAt = columns.get('updatedAt');
  const table: TeamsTable = {
    name: teams.table.sql,
    id: { column: sqlOf('id'), type: idTypeOf(columns.get('id')) },
    customerId: sqlOf('providerCustomerId'),
    plan: new Map(plan),
    updatedAt: updatedAt?.canWrite && updatedAt.isUpdatable ? updatedAt.sql : null,
  };
  const name = columns.get('name');
  const nameColumn = name?.canRead ? name.sql : null;
  const ids = ['id', 'providerCustomerId'].map((field) => {
    // Without the padding of `char(n)`.
    const isText = columns.get(field)?.category === 'S';
    return [field, isText ? `${sqlOf(field)}::text` : sqlOf(field)] as const;
  });
  const values = PLAN_FIELDS.map((field) => {
    const value = table.plan.has(field.name) ? teamField(table, field) : `null::${field.type}`;
    return [field.name, value] as const;
  });
  const named = ['name', `${nameColumn ?? 'null'}::text`] as const;
  return { ...table, nameColumn, rows: rowsSql(teams, [...ids, ...values, named]) };
}

/** SQL for the rows of a table, with these values; by default, with its columns. */
export function rowsSql(
  { entity, table, columns }: RecognizedTable,
  values: readonly (readonly [field: string, sql: string])[] = columns.map(({ field, column }) => [
    field,
    column?.sql ?? 'null::text',
  ]),
): string {
  const selected = values.map(([field, sql]) => `${sql} as ${contractColumn(field)}`);
  return `(select ${selected.join(', ')} from ${table.sql} as ${entity})`;
}

function idTypeOf(column: Column | null | undefined): IdType {
  if (column?.type === 'uuid') return 'uuid';
  return column?.category === 'N' ? 'bigint' : 'text';
}
