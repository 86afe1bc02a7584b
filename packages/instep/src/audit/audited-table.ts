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
import { FIELDS, NAMES } from './findings.ts';

/** The options that name what is not recognized. */
export type Named = { readonly [Option in 'table' | keyof typeof FIELDS]?: string };

export type AuditedTable = Awaited<ReturnType<typeof findAuditedTable>>;

/** If a policy would hide rows from the role, PostgreSQL then refuses to read the table. */
export const REFUSE_HIDDEN_ROWS = 'set local row_security = off';

/** Finds the table, and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, declared: WantedTables, named: Named) {
  const { teams, columns } = await recognizeColumns(query, declared, named);
  const { sql: name } = teams.table;
  const column = (one: string) => columns.get(one)?.sql ?? 'null';
  const period = columnOf(teams, 'currentPeriodEndsAt');
  const periodEnd = period?.category === 'N' ? `to_timestamp(${period.sql})` : period?.sql;
  // Words of the app's own are no status. Without one, apps look at the end of the period.
  const rows = `(
      select ${columnOf(teams, 'id')?.sql ?? 'null'}::text as id,
             nullif(${column('customer')}::text, '') as customer,
             substring(${column('plan')}::text from '(?i)^(?!(?:free|none)?$).*') as plan,
             substring(replace(lower(${column('status')}::text), 'cancelled', 'canceled')
               from '^(?:${Object.keys(STATUSES).join('|')})$') as status,
             nullif(${column('product')}::text, '') as product,
             nullif(${column('price')}::text, '') as price,
             nullif(${column('subscription')}::text, '') as subscription,
             coalesce(${periodEnd ?? 'null'} < now() - interval '1 day', false) as is_over
        from ${name}
    ) as rows
    where customer is not null`;
  await query(REFUSE_HIDDEN_ROWS);
  const counts = await onlyRow<
    Record<'customers' | 'rows' | 'plans' | 'names' | 'statuses', number>
  >(
    query,
    `select count(distinct customer) as customers,
            count(*) as rows,
            count(coalesce(plan, product, price)) as plans,
            count(plan) filter (where coalesce(product, price) is null) as names,
            count(status) as statuses
       from ${rows}`,
  );
  const { customers, plans, statuses } = counts;
  if (customers === 0) throw notFound(`${name} has no row with a customer`);
  const plan = plans > 0 ? 'plan, product, price' : 'status, subscription';
  return {
    ...{ name, ...counts, columns: [...columns.values()].map((one) => one.name) },
    ...{ hasStatuses: statuses > 0, hasSubscriptions: columns.has('subscription') },
    // Few rows are read in milliseconds without an index.
    missingIndex: customers < 10_000 ? null : await missingCustomerIndex(query, teams),
    /** SQL for the rows. */
    select: `
      select *,
             bool_or("hasPlan") over (partition by customer) as "isBesidePlan"
        from (
               select *,
                      coalesce(${plan}) is not null
                        and coalesce(status in ('active', 'trialing', 'past_due'), not is_over) as "hasPlan"
                 from ${rows}
             ) as audited
       order by customer`,
  };
}

async function recognizeColumns(query: Query, declared: WantedTables, named: Named) {
  const [, schema, table] = /^(?:([^.]+)\.)?(.+)$/.exec(named.table ?? '') ?? [];
  const given = NAMES.flatMap((name) => (named[name] ? [[FIELDS[name], named[name]]] : []));
  const names = { ...declared.teams?.columns, ...Object.fromEntries(given) };
  const wanted = { ...declared.teams, ...(table && { schema, table }), columns: names };
  const { teams, unfit } = await recognizeTables(query, { teams: wanted, profile: 'off' });
  const missing = teams?.columns.find(({ field, column, problem }) => {
    return column === null && problem !== null && field !== 'id';
  });
  if (teams === null || missing) throw notFound(missing?.problem ?? unfit?.problems.join('; '));
  const columns = NAMES.flatMap((name) => {
    // Words of the app's own can be compared, but not written. A status beside a subscription is most often Stripe's.
    const isOwn = name === 'plan' || (name === 'status' && columnOf(teams, FIELDS.subscription));
    const own = isOwn && !(FIELDS[name] in names) ? teams.table.columns.get(name) : null;
    const column = columnOf(teams, FIELDS[name]) ?? own;
    return column ? [[name, column] as const] : [];
  });
  if (columns.length === 1)
    throw notFound(`${teams.table.sql} has no column that is known to hold a plan`);
  return { teams, columns: new Map<string, (typeof columns)[number][1]>(columns) };
}

function notFound(why: string | undefined): ConfigInvalid {
  const remedy = `name it with --table, and its columns with --${NAMES.join(', --')}`;
  const problem = `is not found, because ${why}`;
  return new ConfigInvalid([{ variable: 'the table of customers', problem, remedy }]);
}
