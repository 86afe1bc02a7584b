// The table that is audited: which of its columns are compared, and the statement that reads its customers.

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

/** The options that name what is not recognized. */
export type Named = { readonly [Option in 'table' | keyof typeof FIELDS]?: string };

/** A customer's row. A value that no row has is missing, and an empty text is null. */
export type AuditedRow = { readonly [Name in keyof typeof FIELDS]?: string | null } & {
  readonly id: string | null;
  readonly customer: string;
  /** Whether it names a plan, whatever its status says. */
  readonly hasPlan: boolean;
};

export type AuditedTable = Awaited<ReturnType<typeof findAuditedTable>>;

/** Below this, reading all of them takes milliseconds. */
const MANY_CUSTOMERS = 10_000;

/** If a policy would hide rows from the role, PostgreSQL then refuses to read the table. */
export const REFUSE_HIDDEN_ROWS = 'set local row_security = off';

/** Finds the table, and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, declared: WantedTables, named: Named) {
  const [, schema, table] = /^(?:([^.]+)\.)?(.+)$/.exec(named.table ?? '') ?? [];
  const given = NAMES.flatMap((name) => (named[name] ? [[FIELDS[name], named[name]]] : []));
  const names = { ...declared.teams?.columns, ...Object.fromEntries(given) };
  const wanted = { ...declared.teams, ...(table && { schema, table }), columns: names };
  const { teams, unfit } = await recognizeTables(query, { teams: wanted, profile: 'off' });
  const missing = teams?.columns.find(({ field, column, problem }) => {
    return column === null && problem !== null && field !== 'id';
  });
  if (teams === null || missing) throw notFound(missing?.problem ?? unfit?.problems.join('; '));
  const columns = new Map(
    NAMES.flatMap((name) => {
      // Words of the app's own can be compared, but not written. A status beside a subscription is most often Stripe's.
      const isOwn = name === 'plan' || (name === 'status' && columnOf(teams, FIELDS.subscription));
      const own = isOwn && !(FIELDS[name] in names) ? teams.table.columns.get(name) : null;
      const column = columnOf(teams, FIELDS[name]) ?? own;
      return column ? [[name, column] as const] : [];
    }),
  );
  const period = columnOf(teams, 'currentPeriodEndsAt');
  const periodEnd = period?.category === 'N' ? `to_timestamp(${period.sql})` : period?.sql;
  const rows = `(
    select customer,
           case when plan !~* '^(free|none)?$' then plan end as plan,
           substring(replace(lower(status), 'cancelled', 'canceled') from '^(?:${STATUS_NAMES.join('|')})$') as status,
           nullif(product, '') as product,
           nullif(price, '') as price,
           nullif(subscription, '') as subscription,
           id,
           coalesce(period_end < now() - interval '1 day', false) as is_over
      from (
             select ${NAMES.map((name) => `${columns.get(name)?.sql ?? 'null'}::text as ${name}`).join(', ')},
                    ${columnOf(teams, 'id')?.sql ?? 'null'}::text as id,
                    ${periodEnd ?? 'null'}::timestamptz as period_end
               from ${teams.table.sql}
           ) as texts
     where customer <> ''
  ) as rows`;
  await query(REFUSE_HIDDEN_ROWS);
  const counts = await onlyRow<Record<string, number>>(
    query,
    `select count(distinct customer) as customers,
            ${NAMES.map((name) => `count(${name}) as ${name}`).join(', ')}
       from ${rows}`,
  );
  const { customers = 0 } = counts;
  // That no row names a subscription says something about each.
  const used = NAMES.filter((name) => {
    return counts[name] || (name === 'subscription' && columns.has(name));
  });
  const name = teams.table.sql;
  if (customers === 0) throw notFound(`${name} has no row with a customer`);
  if (columns.size === 1) throw notFound(`${name} has no column that is known to hold a plan`);
  const holdsPlan = used.some((one) => one === 'plan' || one === 'product' || one === 'price');
  return {
    ...{ name, customers, columns: [...columns.values()].map((one) => one.name) },
    /** The statement for an index on the customer, if a large table has none. */
    missingIndex: customers < MANY_CUSTOMERS ? null : await missingCustomerIndex(query, teams),
    /** SQL for a row of each customer: of several, one with a plan. Without a status, apps look at the end of the period. */
    select: `
      select distinct on (customer) ${used.join(', ')},
             id,
             coalesce(${holdsPlan ? 'plan, product, price' : 'status, subscription'}) is not null
               and (status is not null or not is_over) as "hasPlan"
        from ${rows}
       order by customer, "hasPlan" desc, array_position('{active,trialing,past_due}', status), id`,
  };
}

const STATUS_NAMES = Object.keys(STATUSES);

function notFound(why: string | undefined): ConfigInvalid {
  const remedy = `name it with --table, and its columns with --${NAMES.join(', --')}`;
  const problem = `is not found, because ${why}`;
  return new ConfigInvalid([{ variable: 'the table of customers', problem, remedy }]);
}
