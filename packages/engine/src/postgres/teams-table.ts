// The application's table of teams, as statements name it. Which columns these are is recognized or declared elsewhere.

import {
  type ContractField,
  PLAN_FIELDS,
  type Plan,
  type PlanFieldName,
  planWith,
} from '../rule/plan-fields.ts';
import { GRANTING_STATUSES } from '../rule/status.ts';

/** All names are SQL: quoted where that is necessary. */
export type TeamsTable = {
  /** With its schema: `public.teams`. */
  readonly name: string;
  readonly id: { readonly column: string; readonly type: 'bigint' | 'uuid' | 'text' };
  readonly customerId: string;
  /** The columns of plan fields: the contract's four, and the others that the table has. */
  readonly plan: ReadonlyMap<PlanFieldName, string>;
  /** Whether the column of the plan's name can't be null, so that a name stays in a row whose plan is cleared. */
  readonly keepsPlanName: boolean;
  /** A column that every update of a team sets to the time; `null`: there is none. */
  readonly updatedAt: string | null;
};

type Field = (typeof PLAN_FIELDS)[number];

/** The fields of a plan that the table has a column for. */
export function fieldsOf({ plan }: TeamsTable): readonly Field[] {
  return PLAN_FIELDS.filter(({ name }) => plan.has(name));
}

const COLUMNS: ReadonlyMap<PlanFieldName, string> = new Map(
  PLAN_FIELDS.map(({ name }) => [
    name,
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ]),
);

/** The column of a field in Instep's own tables: `providerProductId` is `provider_product_id`. */
export function columnOf({ name }: Field): string {
  return COLUMNS.get(name) ?? name;
}

const GRANTING = GRANTING_STATUSES.map((status) => `'${status}'`).join(', ');

/** SQL: a name that stays in a row without a plan, where the column can't be null. There, it counts as none. */
export function nameOfPlan(column: (field: ContractField) => string): string {
  return `(case
    when coalesce(${column('providerSubscriptionId')}, ${column('providerProductId')}) is not null
         or ${column('subscriptionStatus')} in (${GRANTING})
      then ${column('planName')}
  end)`;
}

/** SQL: a field in a team's row. */
export function teamField(teams: TeamsTable, { name }: Field): string {
  const column = (field: PlanFieldName) => `teams.${teams.plan.get(field)}`;
  return name === 'planName' && teams.keepsPlanName ? nameOfPlan(column) : column(name);
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

/** The plan in a row whose columns are the fields, each as text: drivers differ in what they make of other types. */
export function planOfTexts(texts: Readonly<Record<string, string | null>>): Plan {
  return planWith(({ name, type }) => {
    const text = texts[name];
    if (text === undefined || text === null) return null;
    if (type === 'text') return text;
    return type === 'boolean' ? text === 'true' : Number(text);
  });
}
