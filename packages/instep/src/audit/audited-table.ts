// The table that is audited: which of its columns are compared, and the statement that reads its rows.

import {
  columnOf,
  onlyRow,
  type Query,
  recognizeTables,
  type WantedTables,
} from 'instep-engine/postgres';
import { STATUSES } from 'instep-engine/rule';
import { ConfigInvalid } from '../config/config.ts';
import { missingCustomerIndex } from '../doctor/schema.ts';

/** What is compared, by the name of its option, and the field of a team that it is. */
const FIELDS = {
  customer: 'providerCustomerId',
  plan: 'planName',
  status: 'subscriptionStatus',
  product: 'providerProductId',
  price: 'priceId',
  subscription: 'providerSubscriptionId',
} as const;

export const NAMES = Object.keys(FIELDS) as (keyof typeof FIELDS)[];

export type AuditOptions = {
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  /** How many differences are kept. */
  readonly limit: number;
} & {
  /** The names of what is not recognized. */
  readonly [Option in 'table' | keyof typeof FIELDS]?: string;
};

/** A null says nothing. */
export type Row = { readonly [Name in 'id' | keyof typeof FIELDS]: string | null } & {
  readonly customer: string;
  /** Whether its period has ended. */
  readonly isOver: boolean;
};

/** All rows of a customer. */
export type CustomerRows = { readonly customer: string; readonly rows: readonly Row[] };

type Facts = Record<'customers' | 'rows', number> & Record<'hasStatuses' | 'hasPlans', boolean>;

/** The table, and how it is audited. */
export type AuditedTable = Awaited<ReturnType<typeof findAuditedTable>>;

/** If a policy would hide rows from the role, PostgreSQL then refuses to read the table. */
export const REFUSE_HIDDEN_ROWS = 'set local row_security = off';

/** Finds the table, and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, tables: WantedTables, options: AuditOptions) {
  const [, schema, table] = /^(?:([^.]+)\.)?(.+)$/.exec(options.table ?? '') ?? [];
  const given = NAMES.flatMap((name) => (options[name] ? [[FIELDS[name], options[name]]] : []));
  const names = { ...tables.teams?.columns, ...Object.fromEntries(given) };
  const wanted = { ...tables.teams, ...(table && { schema, table }), columns: names };
  const { teams, unfit } = await recognizeTables(query, { teams: wanted, profile: 'off' });
  const missing = teams?.columns.find(({ field, column, problem }) => {
    return column === null && problem !== null && field !== 'id';
  });
  if (teams === null || missing) throw notFound(missing?.problem ?? unfit?.problems.join('; '));
  const { sql: name } = teams.table;
  const columns = NAMES.map((name) => {
    // Words of the app's own can be compared, but not written. A status beside a subscription is most often Stripe's.
    const isOwn = name === 'plan' || (name === 'status' && columnOf(teams, FIELDS.subscription));
    const own = isOwn && !(FIELDS[name] in names) ? teams.table.columns.get(name) : undefined;
    return columnOf(teams, FIELDS[name]) ?? own;
  });
  const known = columns.flatMap((column) => column?.name ?? []);
  if (known.length === 1) throw notFound(`${name} has no column that is known to hold a plan`);

  const texts = columns.map((column) => `nullif(${sqlOf(column)}::text, '')`);
  const [customer, plan, status, product, price, subscription] = texts;
  const end = columnOf(teams, 'currentPeriodEndsAt');
  const endsAt = end?.category === 'N' ? `to_timestamp(app.${end.sql})` : sqlOf(end);
  // Words of the app's own are no status.
  const rows = `
    select ${sqlOf(columnOf(teams, 'id'))}::text as id,
           ${customer} as customer,
           substring(${plan} from '(?i)^(?!(?:free|none)$).*') as plan,
           substring(replace(lower(${status}), 'cancelled', 'canceled')
             from '^(?:${Object.keys(STATUSES).join('|')})$') as status,
           ${product} as product,
           ${price} as price,
           ${subscription} as subscription,
           coalesce(${endsAt} < now() - interval '1 day', false) as "isOver"
      from ${name} as app
     where ${customer} is not null`;
  await query(REFUSE_HIDDEN_ROWS);
  const facts = await onlyRow<Facts>(
    query,
    `select count(distinct customer) as customers,
            count(*) as rows,
            count(status) > 0 as "hasStatuses",
            count(coalesce(plan, product, price)) > 0 as "hasPlans"
       from (${rows}) as audited`,
  );
  if (facts.rows === 0) throw notFound(`${name} has no row with a customer`);
  return {
    ...{ ...options, ...facts, name, columns: known },
    ...{ hasNames: columns[1] !== undefined, hasSubscriptions: columns[5] !== undefined },
    // Few rows are read in milliseconds without an index.
    missingIndex: facts.rows < 10_000 ? null : await missingCustomerIndex(query, teams),
    /** SQL for the rows of each customer. */
    select: `
      select customer, json_agg(audited) as rows
        from (${rows}) as audited
       group by customer
       order by customer`,
  };
}

const sqlOf = (column: { readonly sql: string } | null | undefined) =>
  column ? `app.${column.sql}` : 'null';

function notFound(why: string | undefined): ConfigInvalid {
  const remedy = `name it with --table, and its columns with --${NAMES.join(', --')}`;
  const problem = `is not found, because ${why}`;
  return new ConfigInvalid([{ variable: 'the table of customers', problem, remedy }]);
}
