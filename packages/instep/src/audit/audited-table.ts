// The table that is audited: its columns, its rows with a customer, and whether the role can read all of them.

import {
  applicationTablesOf,
  type Column,
  columnOf,
  findHiddenRows,
  neededPrivileges,
  onlyRow,
  type Query,
  type RecognizedTable,
  recognizeTables,
  teamColumns,
  type WantedTables,
} from 'instep-engine/postgres';
import { ConfigInvalid } from '../config/config.ts';
import { missingCustomerIndex, quoteRole } from '../doctor/schema.ts';

/** The fields that an audit compares, each by the option that names its column. */
export const FIELD_OF = {
  customer: 'providerCustomerId',
  plan: 'planName',
  status: 'subscriptionStatus',
  product: 'providerProductId',
  price: 'priceId',
  subscription: 'providerSubscriptionId',
} as const;

export type ColumnOption = keyof typeof FIELD_OF;

const { customer: CUSTOMER } = FIELD_OF;
const FIELDS = Object.values(FIELD_OF);

export type AuditedTable = {
  readonly name: string;
  /** The columns that count, that of the customer first. */
  readonly columns: readonly string[];
  readonly customers: number;
  /** More, if customers are in several rows. */
  readonly rows: number;
  /** The fields that some row has a value of. */
  readonly used: ReadonlySet<string>;
  /** SQL for the rows with a customer, of each customer together. */
  readonly select: string;
  /** The statement for an index on the customer, if a large table has none. */
  readonly missingIndex: string | null;
};

const invalid = (variable: string, problem: string, remedy: string | null) =>
  new ConfigInvalid([{ variable, problem, remedy }]);

/** Below this, reading all rows takes milliseconds. */
const MANY_ROWS = 10_000;

/** Finds the table and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, wanted: WantedTables): Promise<AuditedTable> {
  const recognized = await recognizeTables(query, { ...wanted, profile: 'off' });
  const { teams, unfit } = recognized;
  if (teams === null) {
    const remedy = "name the table with Stripe's customers, and with --customer their column";
    throw invalid('--table', `is needed, because ${unfit?.problems.join('; ')}`, remedy);
  }
  const declared = wanted.teams?.columns ?? {};
  // Words of the app's own can be compared, but not written. A status beside a subscription is most often that of Stripe.
  const ownWords = {
    planName: 'plan',
    ...(columnOf(teams, 'providerSubscriptionId') && { subscriptionStatus: 'status' }),
  };
  const unnamed = Object.entries(ownWords).filter(
    ([field, name]) =>
      !columnOf(teams, field) && !(field in declared) && isText(teams.table.columns.get(name)),
  );
  if (unnamed.length > 0) {
    const columns = { ...declared, ...Object.fromEntries(unnamed) };
    return await findAuditedTable(query, { ...wanted, teams: { ...wanted.teams, columns } });
  }
  for (const [option, field] of Object.entries(FIELD_OF)) {
    const found = teams.columns.find((one) => one.field === field);
    const isNamed = field in declared || field === CUSTOMER;
    if (isNamed && !isText(found?.column)) {
      throw invalid(`--${option}`, `must name a column: ${found?.problem}`, null);
    }
  }
  const columns = FIELDS.flatMap((field) => columnOf(teams, field)?.name ?? []);
  const { sql: name } = teams.table;
  if (columns.length === 1) {
    const options = Object.keys(FIELD_OF).slice(1).join(', --');
    throw invalid(name, 'has no column that is known to hold a plan', `name one with --${options}`);
  }
  await checkAccess(query, teams);
  const tables = applicationTablesOf({ ...recognized, teams: readable(teams), unfit: null });
  const all = `(select ${teamColumns(tables.teams)} from ${tables.teams.rows} as teams) as audited`;
  const present = FIELDS.filter((field) => field !== CUSTOMER && columnOf(teams, field) !== null);
  const { total, customers, rows, ...filled } = await onlyRow<Record<string, number>>(
    query,
    `select count(*) as total,
            count(distinct nullif("customerId", '')) as customers,
            count(nullif("customerId", '')) as rows,
            ${present.map((field) => `count(nullif("${field}", '')) as "${field}"`).join(', ')}
       from ${all}`,
  );
  if (!customers || !rows) {
    const problem = `has no customer in any of its ${total} rows`;
    throw invalid(name, problem, 'check DATABASE_URL, or name others with --table, --customer');
  }
  return {
    ...{ name, columns, customers, rows },
    used: new Set(present.filter((field) => filled[field] !== 0)),
    select: `select * from ${all} where "customerId" <> '' order by "customerId", id`,
    missingIndex: Number(total) < MANY_ROWS ? null : await missingCustomerIndex(query, teams),
  };
}

const isText = (column: Column | null | undefined) => /^[SE]$/.test(column?.category ?? '');

/** A row that the role can't see would be left out without a word. */
async function checkAccess(query: Query, teams: RecognizedTable): Promise<void> {
  // As a table that is only read.
  const read = { ...teams, entity: 'users' } as const;
  const lacking = neededPrivileges(read, { linksTeams: false }, 'lacking');
  const role = await quoteRole(query, null);
  const [hidden] = await findHiddenRows(query, { users: read, teams: null });
  const grants = lacking.map((privilege) => `grant ${privilege} to ${role};`).join(' ');
  const remedy = grants || (hidden && `${hidden.policy} or ${hidden.bypass}`);
  if (!remedy) return;
  const problem = `has a role that can't read all rows of ${teams.table.sql}`;
  throw invalid('DATABASE_URL', problem, `as the owner, run ${remedy}`);
}

/** As it can be read: each field of a text from a column of any type, and a row without an id by its customer. */
function readable(teams: RecognizedTable): RecognizedTable {
  const customer = columnOf(teams, CUSTOMER);
  const columns = teams.columns.map((one) => {
    const column = one.field === 'id' ? (one.column ?? customer) : one.column;
    // An enumeration is cast to text.
    const category = FIELDS.some((field) => field === one.field) ? 'E' : column?.category;
    return { ...one, column: column && { ...column, isNullable: true, category: category ?? '' } };
  });
  return { ...teams, columns };
}
