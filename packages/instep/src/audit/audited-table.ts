// The table that is audited: which of its columns are compared, and the statement that reads its rows.

import {
  columnOf,
  onlyRow,
  type Query,
  recognizeTables,
  type WantedTables,
} from 'instep-engine/postgres';
import { isCharged, STATUSES } from 'instep-engine/rule';
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

export type TableOptions = {
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
} & {
  /** The names of what is not recognized. */
  readonly [Option in 'table' | keyof typeof FIELDS]?: string;
};

/** A null says nothing. */
export type Row = { readonly [Name in 'id' | keyof typeof FIELDS]: string | null } & {
  readonly customer: string;
  /** The status; `none` if other rows have one. */
  readonly saidStatus: string | null;
  /** Whether it says that its customer has a plan. */
  readonly hasPlan: boolean;
  /** Whether a row of its customer does. */
  readonly isBesidePlan: boolean;
  /** Whether it could name a subscription, and does not. */
  readonly lacksSubscription: boolean;
};

export type AuditedTable = Awaited<ReturnType<typeof findAuditedTable>>;

/** If a policy would hide rows from the role, PostgreSQL then refuses to read the table. */
export const REFUSE_HIDDEN_ROWS = 'set local row_security = off';

/** While a payment is due, a subscription counts as paid, or as one that will not be paid any more. */
export function countedAs(status: string, pastDue: TableOptions['pastDue']): string {
  if (status !== 'past_due') return status;
  return pastDue === 'keep' ? 'active' : 'unpaid';
}

/** Finds the table, and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(
  query: Query,
  declared: WantedTables,
  { pastDue, ...named }: TableOptions,
) {
  const [, schema, table] = /^(?:([^.]+)\.)?(.+)$/.exec(named.table ?? '') ?? [];
  const given = NAMES.flatMap((name) => (named[name] ? [[FIELDS[name], named[name]]] : []));
  const names = { ...declared.teams?.columns, ...Object.fromEntries(given) };
  const wanted = { ...declared.teams, ...(table && { schema, table }), columns: names };
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
  const statuses = Object.keys(STATUSES);
  const live = statuses.filter((one) => isCharged(countedAs(one, pastDue)));
  await query(REFUSE_HIDDEN_ROWS);
  const counts = await onlyRow<{ customers: number; rows: number }>(
    query,
    `select count(distinct ${customer}) as customers, count(${customer}) as rows from ${name} as app`,
  );
  if (counts.rows === 0) throw notFound(`${name} has no row with a customer`);
  return {
    ...{ name, ...counts, columns: known, hasNames: columns[1] !== undefined },
    // Few rows are read in milliseconds without an index.
    missingIndex: counts.rows < 10_000 ? null : await missingCustomerIndex(query, teams),
    /** SQL for the rows. Words of the app's own are no status. Without one, apps look at the end of the period. */
    select: `
      select *, bool_or("hasPlan") over (partition by customer) as "isBesidePlan"
        from (
               select *,
                      coalesce(status, case when count(status) over () > 0 then 'none' end) as "saidStatus",
                      coalesce(status = any ('{${live.join()}}'), not is_over)
                        and case when count(coalesce(plan, product, price)) over () > 0
                                 then coalesce(plan, product, price)
                                 else coalesce(status, subscription)
                            end is not null as "hasPlan"
                 from (
                        select ${sqlOf(columnOf(teams, 'id'))}::text as id,
                               ${customer} as customer,
                               substring(${plan} from '(?i)^(?!(?:free|none)$).*') as plan,
                               substring(replace(lower(${status}), 'cancelled', 'canceled')
                                 from '^(?:${statuses.join('|')})$') as status,
                               ${product} as product,
                               ${price} as price,
                               ${subscription} as subscription,
                               ${columns[5] !== undefined} and ${subscription} is null as "lacksSubscription",
                               coalesce(${endsAt} < now() - interval '1 day', false) as is_over
                          from ${name} as app
                      ) as rows
                where customer is not null
             ) as audited
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
