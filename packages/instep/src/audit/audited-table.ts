// The table that is audited: its columns, and how many of its rows have a customer.

import {
  columnOf,
  findHiddenRows,
  neededPrivileges,
  onlyRow,
  type Query,
  type RecognizedTable,
  recognizeTables,
  type WantedTables,
} from 'instep-engine/postgres';
import { ConfigInvalid } from '../config/config.ts';
import { missingCustomerIndex, quoteRole } from '../doctor/schema.ts';

/** The columns that an audit reads, each by the option that names it. */
export const COLUMN_OPTIONS = {
  customer: 'providerCustomerId',
  plan: 'planName',
  status: 'subscriptionStatus',
  product: 'providerProductId',
  price: 'priceId',
  subscription: 'providerSubscriptionId',
} as const;

export type ColumnOption = keyof typeof COLUMN_OPTIONS;

type PlanField = Exclude<(typeof COLUMN_OPTIONS)[ColumnOption], 'providerCustomerId'>;

const { customer: CUSTOMER, ...PLAN_OPTIONS } = COLUMN_OPTIONS;
const FIELDS: readonly PlanField[] = Object.values(PLAN_OPTIONS);

/** A row with a customer. An empty text counts as null. */
export type AuditedRow = Readonly<Record<PlanField, string | null>> & {
  readonly id: string | null;
  readonly customerId: string;
  readonly periodEndSeconds: number | null;
};

export type AuditedTable = {
  readonly name: string;
  /** The columns that count, that of the customer first. */
  readonly columns: readonly string[];
  readonly has: (field: PlanField) => boolean;
  /** Whether a row has a value there. */
  readonly isUsed: (field: PlanField) => boolean;
  readonly customers: number;
  /** SQL for the rows. */
  readonly rows: string;
  /** The statement for an index on the customer, if a large table has none. */
  readonly missingIndex: string | null;
};

const invalid = (variable: string, problem: string, remedy: string | null) =>
  new ConfigInvalid([{ variable, problem, remedy }]);

/** Below this, reading all rows takes milliseconds. */
const MANY_ROWS = 10_000;

/** Finds the table and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, wanted: WantedTables): Promise<AuditedTable> {
  const { teams, unfit } = await recognizeTables(query, { ...wanted, profile: 'off' });
  if (teams === null) {
    const remedy = "name the table with Stripe's customers, and with --customer their column";
    throw invalid('--table', `is needed, because ${unfit?.problems.join('; ')}`, remedy);
  }
  const { sql: name } = teams.table;
  const declared = new Map(Object.entries(wanted.teams?.columns ?? {}));
  // It has words of the app's own, which can be compared, but not written.
  if (
    teams.table.columns.has('plan') &&
    !columnOf(teams, 'planName') &&
    !declared.has('planName')
  ) {
    const columns = { ...wanted.teams?.columns, planName: 'plan' };
    return await findAuditedTable(query, { ...wanted, teams: { ...wanted.teams, columns } });
  }
  for (const { field, column, problem } of teams.columns) {
    const isUnfit =
      problem !== null && (field === CUSTOMER || (column === null && declared.has(field)));
    const [option] = Object.entries(COLUMN_OPTIONS).find(([, one]) => one === field) ?? [];
    if (isUnfit && option) throw invalid(`--${option}`, `must name a column: ${problem}`, null);
  }
  if (FIELDS.every((field) => columnOf(teams, field) === null)) {
    const remedy = `name one with --${Object.keys(PLAN_OPTIONS).join(', --')}`;
    throw invalid(name, 'has no column that is known to hold a plan', remedy);
  }
  await checkAccess(query, teams);
  const { total, customers, ...used } = await onlyRow<Record<string, number>>(
    query,
    `select count(*) as total,
            count("customerId") as customers,
            ${FIELDS.map((field) => `count("${field}") as "${field}"`).join(', ')}
       from (${selectAll(teams)}) as audited`,
  );
  if (!customers) {
    const problem = `has no customer in any of its ${total} rows`;
    throw invalid(name, problem, 'check DATABASE_URL, or name others with --table, --customer');
  }
  return {
    name,
    columns: Object.values(COLUMN_OPTIONS).flatMap((field) => columnOf(teams, field)?.name ?? []),
    has: (field) => columnOf(teams, field) !== null,
    isUsed: (field) => used[field] !== 0,
    customers,
    rows: `select * from (${selectAll(teams)}) as audited where "customerId" is not null`,
    missingIndex: Number(total) < MANY_ROWS ? null : await missingCustomerIndex(query, teams),
  };
}

/** A row that the role can't see would be left out without a word. */
async function checkAccess(query: Query, teams: RecognizedTable): Promise<void> {
  // As of a table that is only read.
  const read = { ...teams, entity: 'users' } as const;
  const lacking = neededPrivileges(read, { linksTeams: false }, 'lacking');
  const role = await quoteRole(query, null);
  const [hidden] = await findHiddenRows(query, { users: read, teams: null });
  const problem = `has a role that can't read ${hidden ? 'all rows of ' : ''}${teams.table.sql}`;
  if (lacking.length > 0) {
    const grants = lacking.map((privilege) => `grant ${privilege} to ${role};`);
    throw invalid('DATABASE_URL', problem, `as the owner, run ${grants.join(' ')}`);
  }
  if (hidden) {
    throw invalid(
      'DATABASE_URL',
      problem,
      `as the owner, run ${hidden.policy} or ${hidden.bypass}`,
    );
  }
}

function selectAll(teams: RecognizedTable): string {
  const text = (field: string) => {
    const column = columnOf(teams, field);
    return column === null ? 'null::text' : `nullif(${column.sql}::text, '')`;
  };
  const end = columnOf(teams, 'currentPeriodEndsAt');
  const seconds = end?.category === 'D' ? `extract(epoch from ${end.sql})` : end?.sql;
  return `
      select ${text('id')} as id,
             ${text('providerCustomerId')} as "customerId",
             ${text('planName')} as "planName",
             ${text('subscriptionStatus')} as "subscriptionStatus",
             ${text('providerProductId')} as "providerProductId",
             ${text('priceId')} as "priceId",
             ${text('providerSubscriptionId')} as "providerSubscriptionId",
             ${seconds ?? 'null'}::bigint as "periodEndSeconds"
        from ${teams.table.sql}`;
}
