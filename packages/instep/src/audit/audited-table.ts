// The table that is audited: which of its columns are compared, and the statement that reads its customers.

import {
  columnOf,
  onlyRow,
  type Query,
  recognizeTables,
  type WantedTables,
} from 'instep-engine/postgres';
import { ConfigInvalid } from '../config/config.ts';
import { missingCustomerIndex } from '../doctor/schema.ts';

/** What is compared, and the field of a team that it is. The options of the command have the same names. */
export const COMPARED = {
  customer: 'providerCustomerId',
  plan: 'planName',
  status: 'subscriptionStatus',
  product: 'providerProductId',
  price: 'priceId',
  subscription: 'providerSubscriptionId',
} as const;

export type Name = keyof typeof COMPARED;

const NAMES = Object.keys(COMPARED) as Name[];

/** What has no column is missing, and an empty text is null. */
export type AuditedRow = Readonly<Partial<Record<Name, string | null>>> & {
  readonly id: string;
  /** Whether the period that was paid for is over. */
  readonly isOver: boolean;
};

export type AuditedCustomer = { readonly customer: string; readonly rows: readonly AuditedRow[] };

export type AuditedTable = Awaited<ReturnType<typeof findAuditedTable>>;

/** Below this, reading all rows takes milliseconds. */
const MANY_ROWS = 10_000;

/** If a policy would hide rows from the role, PostgreSQL then refuses to read the table. */
export const REFUSE_HIDDEN_ROWS = 'set local row_security = off';

function notFound(why: string): ConfigInvalid {
  const [variable, problem] = ['the table of customers', `is not found, because ${why}`];
  const remedy = `name it with --table, and its columns with --${NAMES.join(', --')}`;
  return new ConfigInvalid([{ variable, problem, remedy }]);
}

/** Finds the table, and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, wanted: WantedTables) {
  const { teams, unfit } = await recognizeTables(query, { ...wanted, profile: 'off' });
  if (teams === null) throw notFound(`${unfit?.problems.join('; ')}`);
  const declared = wanted.teams?.columns ?? {};
  const missing = teams.columns.find(({ field, column }) => {
    return column === null && (field === COMPARED.customer || field in declared);
  });
  if (missing) throw notFound(`${missing.problem}`);
  const columns = NAMES.flatMap((name) => {
    const field = COMPARED[name];
    // Words of the app's own can be compared, but not written. A status beside a subscription is most often Stripe's.
    const isOwn = name === 'plan' || (name === 'status' && columnOf(teams, COMPARED.subscription));
    const own = isOwn && !(field in declared) ? teams.table.columns.get(name) : undefined;
    const column = columnOf(teams, field) ?? own;
    return column === undefined ? [] : [{ name, column }];
  });
  const { sql: table } = teams.table;
  if (columns.length === 1) throw notFound(`${table} has no column that is known to hold a plan`);
  const period = columnOf(teams, 'currentPeriodEndsAt');
  const periodEnd = period?.category === 'N' ? `to_timestamp(${period.sql})` : period?.sql;
  const audited = `(
    select ${columns.map(({ name, column }) => `nullif(${column.sql}::text, '') as ${name},`).join(' ')}
           ${columnOf(teams, 'id')?.sql ?? 'null'}::text as id,
           coalesce(${periodEnd ?? 'null'} < now() - interval '1 day', false) as "isOver"
      from ${table}
  ) as audited
  where customer is not null`;
  await query(REFUSE_HIDDEN_ROWS);
  const {
    customers = 0,
    rows = 0,
    ...filled
  } = await onlyRow<Record<string, number>>(
    query,
    `select count(distinct customer) as customers, count(*) as rows,
            ${columns.map(({ name }) => `count(${name}) as ${name}`).join(', ')}
       from ${audited}`,
  );
  if (rows === 0) throw notFound(`${table} has no row with a customer`);
  return {
    ...{ name: table, customers, rows },
    /** The statement for an index on the customer, if a large table has none. */
    missingIndex: rows < MANY_ROWS ? null : await missingCustomerIndex(query, teams),
    columns: columns.map(({ column }) => column.name),
    /** What some row has a value of. */
    used: new Set(NAMES.filter((name) => filled[name])),
    /** SQL for all customers, each with its rows: more than one, if it is in several. */
    select: `
      select customer, json_agg(audited order by id) as rows
        from ${audited}
       group by customer
       order by customer`,
  };
}
