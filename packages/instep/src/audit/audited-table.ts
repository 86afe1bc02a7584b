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

/** The options that name what is not recognized. */
export type Named = { readonly [Option in 'table' | keyof typeof FIELDS]?: string };

export type AuditedTable = Awaited<ReturnType<typeof findAuditedTable>>;

/** If a policy would hide rows from the role, PostgreSQL then refuses to read the table. */
export const REFUSE_HIDDEN_ROWS = 'set local row_security = off';

/** Finds the table, and counts its customers. @throws ConfigInvalid if it can't be audited */
export async function findAuditedTable(query: Query, declared: WantedTables, named: Named) {
  const { teams, columns, periodEnd } = await recognizeColumns(query, declared, named);
  const { sql: name } = teams.table;
  const texts = NAMES.map((one) => `${textOf(one, columns.get(one)?.sql ?? 'null')} as ${one}`);
  const rows = `(
      select ${texts.join(', ')},
             ${columnOf(teams, 'id')?.sql ?? 'null'}::text as id,
             coalesce(${periodEnd} < now() - interval '1 day', false) as is_over
        from ${name}
    ) as rows
    where customer is not null`;
  await query(REFUSE_HIDDEN_ROWS);
  const counted = NAMES.map((one) => `count(${one}) as ${one}`).join(', ');
  const { customers = 0, ...counts } = await onlyRow<Record<string, number>>(
    query,
    `select count(distinct customer) as customers, count(*) as rows, ${counted} from ${rows}`,
  );
  if (customers === 0) throw notFound(`${name} has no row with a customer`);
  // That no row names a subscription says something about each.
  const used = NAMES.filter((one) => counts[one] || (one === 'subscription' && columns.has(one)));
  const hasOnlyNames = !used.includes('product') && !used.includes('price');
  const holdsPlan = used.includes('plan') || !hasOnlyNames;
  return {
    ...{ name, customers, used, hasOnlyNames, rows: counts.rows ?? 0 },
    columns: [...columns.values()].map((one) => one.name),
    // Few rows are read in milliseconds without an index.
    missingIndex: customers < 10_000 ? null : await missingCustomerIndex(query, teams),
    /** SQL for the rows. Without a status, apps look at the end of the period. */
    select: `
      select ${used.join(', ')},
             id,
             "hasPlan",
             bool_or("hasPlan" and coalesce(status in ('active', 'trialing', 'past_due'), true))
               over (partition by customer) as "isBesidePlan"
        from (
               select *,
                      coalesce(${holdsPlan ? 'plan, product, price' : 'status, subscription'}) is not null
                        and (status is not null or not is_over) as "hasPlan"
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
  const period = columnOf(teams, 'currentPeriodEndsAt');
  const periodEnd = period?.category === 'N' ? `to_timestamp(${period.sql})` : period?.sql;
  return { teams, columns: new Map(columns), periodEnd: periodEnd ?? 'null' };
}

/** SQL for a value as text; null if it says nothing. */
function textOf(name: keyof typeof FIELDS, column: string): string {
  const text = `${column}::text`;
  if (name === 'plan') return `case when ${text} !~* '^(free|none)?$' then ${text} end`;
  if (name !== 'status') return `nullif(${text}, '')`;
  const statuses = Object.keys(STATUSES).join('|');
  return `substring(replace(lower(${text}), 'cancelled', 'canceled') from '^(?:${statuses})$')`;
}

function notFound(why: string | undefined): ConfigInvalid {
  const remedy = `name it with --table, and its columns with --${NAMES.join(', --')}`;
  const problem = `is not found, because ${why}`;
  return new ConfigInvalid([{ variable: 'the table of customers', problem, remedy }]);
}
