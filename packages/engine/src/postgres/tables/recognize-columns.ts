// Recognizes the columns of a table by their names and types: recognize-tables.ts calls this.

import { PLAN_FIELDS } from '../../rule/plan-fields.ts';
import { effectOf, STATUSES } from '../../rule/status.ts';
import {
  type ColumnContent,
  contractColumn,
  type DeclaredTable,
  type Entity,
  FIELDS,
} from './application-tables.ts';
import type { Column, Table } from './read-tables.ts';
import { dropNotNull, type RecognizedColumn, type RecognizedTable } from './recognized-tables.ts';

/** The types that fit, each after its category in PostgreSQL, and their name for people. */
const COLUMN_TYPES: Readonly<Record<ColumnContent, { name: string; fits: RegExp }>> = {
  id: { name: 'integer, uuid or text', fits: /^(?:N (?:smallint|integer|bigint)|U uuid|S .*)$/ },
  text: { name: 'text', fits: /^S / },
  label: { name: 'text', fits: /^[SE] / },
  time: { name: 'timestamptz', fits: /^D timestamp/ },
  number: { name: 'integer', fits: /^N (?:smallint|integer|bigint)$/ },
  flag: { name: 'boolean', fits: /^B boolean$/ },
  moment: {
    name: 'timestamptz, or bigint for seconds',
    fits: /^(?:D timestamp.*|N (?:integer|bigint))$/,
  },
};

const withStripe = (field: string) => field.replace(/^provider/, 'stripe');

/**
 * The conventions by which applications name columns: the contract's, nextjs/saas-starter's and
 * Prisma's.
 */
const CONVENTIONS: readonly ((field: string) => string)[] = [
  contractColumn,
  (field) => contractColumn(withStripe(field)),
  (field) => field,
  withStripe,
];

/** How applications call fields otherwise. Not `plan` and `status`, which hold the application's own words in most. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  subscriptionStatus: ['providerSubscriptionStatus', 'providerStatus'],
  priceId: ['providerPriceId'],
  quantity: ['providerQuantity'],
  currentPeriodEndsAt: ['currentPeriodEnd', 'providerCurrentPeriodEnd', 'periodEnd'],
  cancelAtPeriodEnd: ['providerCancelAtPeriodEnd'],
  trialEndsAt: ['trialEnd', 'providerTrialEnd'],
};

/** The names that a field's column can have, the contract's first. */
export function columnNames(field: string): string[] {
  return [...new Set([field, ...(OTHER_NAMES[field] ?? [])].flatMap(namesOf))];
}

const namesOf = (field: string) => CONVENTIONS.map((nameOf) => nameOf(field));

/** The names of missing columns, in the convention that most of the table's columns follow. */
function conventionOf(fields: readonly string[], present: ReadonlySet<string>) {
  const hits = CONVENTIONS.map((nameOf) => fields.filter((field) => present.has(nameOf(field))));
  const most = Math.max(...hits.map(({ length }) => length));
  return CONVENTIONS[hits.findIndex(({ length }) => length === most)] ?? contractColumn;
}

const PLAN_FIELD_OF = new Map<string, (typeof PLAN_FIELDS)[number]>(
  PLAN_FIELDS.map((field) => [field.name, field]),
);

/** The statuses that are written. */
const WRITTEN_STATUSES = Object.keys(STATUSES).filter((status) => effectOf(status) !== 'none');

/** Recognizes the columns of a table, of which these fields can lack one. */
export function recognizeTable(
  entity: Entity,
  table: Table,
  canLack: readonly string[],
  declared: DeclaredTable<string> = {},
): RecognizedTable {
  const fields: [string, ColumnContent][] = Object.entries(FIELDS[entity]);
  const nameOf = conventionOf(
    fields.map(([field]) => field),
    new Set(table.columns.keys()),
  );
  const columns = fields.map(([field, content]) => {
    const declaredName = declared.columns?.[field];
    const isDeclared = typeof declaredName === 'string';
    const possible = isDeclared ? [declaredName] : columnNames(field);
    const present =
      declaredName === null ? [] : possible.flatMap((one) => table.columns.get(one) ?? []);
    const { name: expectedType, fits } = COLUMN_TYPES[content];
    const fitting = present.find(({ category, type }) => fits.test(`${category} ${type}`));
    const named = fitting ?? present[0] ?? null;
    // A user's column that exists is read: of another type, it could hide who is deleted. So is one of the contract's plan.
    const mustFit = entity === 'users' || PLAN_FIELD_OF.get(field)?.isRequired === true;
    const isNeeded = isDeclared || !canLack.includes(field) || (mustFit && named !== null);
    const column = isNeeded ? named : (fitting ?? null);
    const name = column?.name ?? declaredName ?? nameOf(field);
    const place = `${table.name}.${name}`;
    let problem = column && entity === 'teams' ? whyNotWritable(table, field, column) : null;
    if (isNeeded && column === null) problem = `${place} (${expectedType}) is missing`;
    else if (isNeeded && fitting === undefined) {
      problem = `${place} is ${column?.type}, not ${expectedType}`;
    }
    const isWritten = column !== null && PLAN_FIELD_OF.has(field);
    return { field, name, column, isOptional: !isNeeded && !isWritten, problem };
  });
  return { entity, table, columns: entity === 'teams' ? withSharedColumns(columns) : columns };
}

/** Why a field of a plan can't be written to a column of its type. */
function whyNotWritable(table: Table, field: string, column: Column): string | null {
  const planField = PLAN_FIELD_OF.get(field);
  if (planField === undefined) return null;
  const place = `${table.name}.${column.name}`;
  if (!column.isUpdatable) return `${place} can't be updated`;
  const missing = WRITTEN_STATUSES.find((status) => column.labels?.includes(status) === false);
  if (missing !== undefined) {
    return `${place} can't be ${missing}: alter type ${column.type} add value '${missing}';`;
  }
  const { name, type, whenCleared } = planField;
  const isKept = name === 'planName' || type === 'boolean' || whenCleared === 'set';
  return column.isNullable || isKept
    ? null
    : `${place} can't be null, so a canceled plan stays: ${dropNotNull(table, column)}`;
}

/** The fields of a plan that the table has. */
export const writtenFields = ({ columns }: RecognizedTable) =>
  columns.flatMap(({ field, column }) =>
    column !== null && PLAN_FIELD_OF.has(field) ? field : [],
  );

/** A column of a team can hold only one of the fields that Instep needs there. */
function withSharedColumns(columns: readonly RecognizedColumn[]): RecognizedColumn[] {
  return columns.map((column) => {
    const { field, name, isOptional } = column;
    const sharing = columns.find(
      (one) => one.field !== field && one.name === name && !one.isOptional && one.column !== null,
    );
    if (isOptional || sharing === undefined || column.problem !== null) return column;
    return { ...column, problem: `${name} is the column of both ${field} and ${sharing.field}` };
  });
}
