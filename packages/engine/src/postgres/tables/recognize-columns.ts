// Recognizes the columns of a table by their names and types: recognize-tables.ts calls this.

import { PLAN_FIELDS } from '../../rule/plan-fields.ts';
import { effectOf, STATUSES } from '../../rule/status.ts';
import { contractColumn } from '../teams-table.ts';
import {
  type ColumnContent,
  type Entity,
  FIELDS,
  type WantedTables,
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

/** How applications call fields otherwise. Not `plan` and `status`, which hold the application's own words in most. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  subscriptionStatus: ['providerSubscriptionStatus', 'providerStatus'],
  priceId: ['providerPriceId'],
  quantity: ['providerQuantity'],
  currentPeriodEndsAt: ['currentPeriodEnd', 'providerCurrentPeriodEnd', 'periodEnd'],
  cancelAtPeriodEnd: ['providerCancelAtPeriodEnd'],
  trialEndsAt: ['trialEnd', 'providerTrialEnd'],
};

/** The names that a field's column can have: the contract's first, then nextjs/saas-starter's and Prisma's. */
export function columnNames(field: string): string[] {
  const names = [field, ...(OTHER_NAMES[field] ?? [])].flatMap((name) => {
    const withStripe = name.replace(/^provider/, 'stripe');
    return [contractColumn(name), contractColumn(withStripe), name, withStripe];
  });
  return [...new Set(names)];
}

/** The fields that tables can lack. The profile has a value for each of those of users (docs/contract.md, section 2). */
const CAN_LACK: Readonly<Record<Entity, readonly string[]>> = {
  users: ['name', 'role', 'createdAt', 'updatedAt', 'deletedAt'],
  // But not all that tell which plan a team has.
  teams: ['name', 'updatedAt', ...PLAN_FIELDS.map(({ name }) => name)],
  members: [],
};

const planFieldOf = (field: string) => PLAN_FIELDS.find(({ name }) => name === field);

/** The statuses that are written. */
const WRITTEN_STATUSES = Object.keys(STATUSES).filter((status) => effectOf(status) !== 'none');

/** Recognizes the columns of a table. */
export function recognizeTable(
  entity: Entity,
  table: Table,
  { profile, ...declared }: WantedTables,
): RecognizedTable {
  const canLack = new Set(CAN_LACK[entity]);
  if (profile === 'without password') canLack.add('passwordHash');
  const names: Readonly<Record<string, string | null | undefined>> =
    declared[entity]?.columns ?? {};
  const fields: [string, ColumnContent][] = Object.entries(FIELDS[entity]);
  const columns = fields.map(([field, content]): RecognizedColumn => {
    const own = names[field];
    const possible = own === undefined ? columnNames(field) : own === null ? [] : [own];
    const present = possible.flatMap((one) => table.columns.get(one) ?? []);
    const { name: expectedType, fits } = COLUMN_TYPES[content];
    const fitting = present.find(({ category, type }) => fits.test(`${category} ${type}`));
    const planField = planFieldOf(field);
    // A user's column that exists is read: of another type, it could hide who is deleted. So is one of the contract's plan.
    const mustFit = entity === 'users' || planField?.isRequired === true;
    const isNeeded =
      typeof own === 'string' || !canLack.has(field) || (mustFit && present.length > 0);
    const column = fitting ?? (isNeeded ? present[0] : undefined) ?? null;
    const name = column?.name ?? possible[0] ?? contractColumn(field);
    const place = `${table.name}.${name}`;
    let problem: string | null = null;
    if (column === null) problem = isNeeded ? `${place} (${expectedType}) is missing` : null;
    else if (column !== fitting) problem = `${place} is ${column.type}, not ${expectedType}`;
    else if (planField !== undefined) problem = whyNotWritable(table, planField, column);
    const isWritten = column !== null && planField !== undefined;
    return { field, name, column, isOptional: !isNeeded && !isWritten, problem };
  });
  return { entity, table, columns: entity === 'teams' ? columns.map(unlessShared) : columns };
}

/** Why a field of a plan can't be written to a column of its type. */
function whyNotWritable(
  table: Table,
  { name, type, whenCleared }: (typeof PLAN_FIELDS)[number],
  column: Column,
): string | null {
  const place = `${table.name}.${column.name}`;
  if (!column.isUpdatable) return `${place} can't be updated`;
  const missing = WRITTEN_STATUSES.find((status) => column.labels?.includes(status) === false);
  if (missing !== undefined) {
    return `${place} can't be ${missing}: alter type ${column.type} add value '${missing}';`;
  }
  const isKept = name === 'planName' || type === 'boolean' || whenCleared === 'set';
  return column.isNullable || isKept
    ? null
    : `${place} can't be null, so a canceled plan stays: ${dropNotNull(table, column)}`;
}

/** A column of a team can hold only one of the fields that Instep needs there. */
function unlessShared(
  one: RecognizedColumn,
  _: number,
  all: readonly RecognizedColumn[],
): RecognizedColumn {
  const other = all.find(
    ({ field, column, isOptional }) =>
      field !== one.field && column !== null && column === one.column && !isOptional,
  );
  if (one.isOptional || other === undefined || one.problem !== null) return one;
  return { ...one, problem: `${one.name} is the column of both ${one.field} and ${other.field}` };
}
