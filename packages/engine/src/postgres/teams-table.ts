// The application's table of teams, as statements name it. Which columns these are is recognized or declared elsewhere.

import {
  MAX_SECONDS,
  PLAN_FIELDS,
  type PlanFieldName,
  type PlanInRow,
} from '../rule/plan-fields.ts';
import { GRANTING_STATUSES } from '../rule/status.ts';

/** All names are SQL: quoted where that is necessary. */
export type TeamsTable = {
  /** With its schema: `public.teams`. */
  readonly name: string;
  readonly id: { readonly column: string; readonly type: 'bigint' | 'uuid' | 'text' };
  readonly customerId: string;
  /** The columns of the plan's fields. A field without a column is not written. */
  readonly plan: ReadonlyMap<PlanFieldName, PlanColumn>;
  /** A column that every update of a team sets to the time; `null`: there is none. */
  readonly updatedAt: string | null;
};

export type PlanColumn = {
  readonly name: string;
  /**
   * `text` for all texts, or an enumeration; for times also `timestamp`, in UTC, and `bigint`, in seconds since 1970.
   */
  readonly type: string;
  /** If not, a flag that is not set is false, and the name of a plan stays in a row whose plan is cleared. */
  readonly isNullable: boolean;
};

type Field = (typeof PLAN_FIELDS)[number];

/** The fields of a plan that the table has a column for. */
export function fieldsOf({ plan }: TeamsTable): readonly Field[] {
  return PLAN_FIELDS.filter(({ name }) => plan.has(name));
}

/** The name of a field as a column of the contract's and of Instep's tables: `provider_product_id`. */
export const contractColumn = (field: string) =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Made once, because every write names them. */
const COLUMNS = new Map(PLAN_FIELDS.map(({ name }) => [name, contractColumn(name)]));

/** The column of a field in Instep's own tables. */
export const ownColumn = ({ name }: Field) => COLUMNS.get(name) ?? name;

/** A value as JSON has it. A missing one is null. */
export type ColumnValue = string | readonly string[] | number | boolean | undefined;

/** A time as JSON has it. */
export const timeText = (seconds: number | null | undefined) =>
  typeof seconds === 'number' ? new Date(seconds * 1_000).toISOString() : undefined;

/** The columns of a plan in Instep's own tables, as JSON has them. */
export function planColumns(plan: PlanInRow | null, suffix = ''): Record<string, ColumnValue> {
  const columns: Record<string, ColumnValue> = {};
  for (const field of PLAN_FIELDS) {
    const value = plan?.[field.name] ?? undefined;
    if (value === undefined) continue;
    columns[ownColumn(field) + suffix] =
      typeof value === 'number' && field.type === 'timestamptz' ? timeText(value) : value;
  }
  return columns;
}

function columnIn({ plan }: TeamsTable, { name }: Field): PlanColumn {
  const column = plan.get(name);
  if (column === undefined) throw new RangeError(`the table has no column for ${name}`);
  return column;
}

/** Whether a name stays in a row without a plan, because the column can't be null. There, it counts as none. */
function keepsPlanName({ plan }: TeamsTable): boolean {
  return plan.get('planName')?.isNullable === false;
}

const GRANTING = GRANTING_STATUSES.map((status) => `'${status}'`).join(', ');

/** The fields that tell whether a row has a plan, other than its name. */
const IDS = ['providerSubscriptionId', 'providerProductId', 'priceId'] as const;

function nameOfPlan({ plan }: TeamsTable): string {
  const column = (field: PlanFieldName) => {
    const found = plan.get(field);
    return found === undefined ? [] : [`teams.${found.name}`];
  };
  const conditions = [
    ...IDS.flatMap(column).map((id) => `${id} is not null`),
    ...column('subscriptionStatus').map((status) => `${status} in (${GRANTING})`),
  ];
  return `(case
    when ${conditions.join('\n         or ')}
      then ${column('planName')}
  end)`;
}

/** SQL: a field in a team's row, as Instep's own tables have it. */
export function teamField(teams: TeamsTable, field: Field): string {
  if (field.name === 'planName' && keepsPlanName(teams)) return nameOfPlan(teams);
  const { name, type } = columnIn(teams, field);
  const column = `teams.${name}`;
  if (type === field.type) return column;
  if (field.type === 'text') return `${column}::text`;
  if (field.type !== 'timestamptz') return `${column}::${field.type}`;
  if (type === 'timestamp') return `(${column} at time zone 'UTC')`;
  return `(case when ${column} between 0 and ${MAX_SECONDS} then to_timestamp(${column}) end)`;
}

/** SQL: the value of a field in a team's row, as all statements compare it. */
export function teamValue(teams: TeamsTable, field: Field): string {
  return comparable(teamField(teams, field), field.type);
}

/**
 * SQL: a value of this type as all statements compare it. A time is in seconds since 1970; one that Stripe never has, such as
 * `infinity`, counts as none.
 */
export function comparable(value: string, type: Field['type']): string {
  if (type !== 'timestamptz') return `${value}::${type}`;
  return `case when ${value} between '1970-01-01' and '9999-12-31' then extract(epoch from ${value})::bigint end`;
}

/** SQL: what a row has of this value, which has the type of the field, once it was written there. */
function valueInTeam(teams: TeamsTable, field: Field, value: string): string {
  const isFlag = field.type === 'boolean' && !columnIn(teams, field).isNullable;
  return isFlag ? `coalesce(${value}, false)` : value;
}

/**
 * SQL: whether a row has got another plan than it should, by the columns of both. A trigger can change it, and an
 * application can shorten its name, which is not compared.
 */
export function isOtherPlan(
  teams: TeamsTable,
  written: (field: Field) => string,
  wanted: (field: Field) => string,
): string {
  const fields = fieldsOf(teams).filter(({ name }) => name !== 'planName');
  if (fields.length === 0) return 'false';
  const expected = fields.map((field) => valueInTeam(teams, field, wanted(field)));
  const [actual, planned] = [fields.map(written), expected].map((values) => {
    return `(${values.join(',\n                    ')})`;
  });
  return `${actual}
                   is distinct from
                   ${planned}`;
}

/** SQL: the assignment of this value, which has the type of the field, to the column of a team's row. */
export function assigned(teams: TeamsTable, field: Field, value: string): string {
  const { name, type, isNullable } = columnIn(teams, field);
  if (field.name === 'planName' && !isNullable)
    return `${name} = coalesce(${value}, teams.${name})`;
  if (type === field.type) return `${name} = ${valueInTeam(teams, field, value)}`;
  if (field.type !== 'timestamptz') return `${name} = ${value}::${type}`;
  const time =
    type === 'timestamp' ? `${value} at time zone 'UTC'` : `extract(epoch from ${value})`;
  return `${name} = ${time}`;
}

/** SQL: the plan of a team as JSON, in the fields that the table has; times are in seconds since 1970. */
export function planJson(teams: TeamsTable, value: (field: Field) => string): string {
  const pairs = fieldsOf(teams).map((field) => `'${field.name}', ${value(field)}`);
  return `json_build_object(${pairs.join(', ')})`;
}
