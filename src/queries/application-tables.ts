import type { Query } from '../postgres/database.ts';
import { InstepError } from '../runtime/errors.ts';

/** A table of the application is missing, lacks a column, or has one with an unusable type. */
export class ApplicationTablesUnfit extends InstepError {
  readonly code = 'APPLICATION_TABLES_UNFIT';
  /** The tables or columns, and what is wrong with each. */
  readonly problems: readonly string[];
  readonly advice: string;

  constructor(problems: readonly string[], advice: string) {
    super(`the application's tables do not fit: ${problems.join('; ')}: ${advice}`);
    this.problems = problems;
    this.advice = advice;
  }
}

const CREATE_TABLE =
  "run your app's migrations, create a view with this name, or add the table's schema to the " +
  'search_path; Instep creates users and teams only together, when it first migrates a database';

const ALTER_COLUMNS = 'add or alter the columns, or replace the table with a view that has them';

type Kind = 'integer' | 'text' | 'label' | 'time';

/** The contract's columns (section 2) and no others, so that a view can stand in for a table. */
const COLUMNS: Record<'users' | 'teams', Record<string, Kind>> = {
  users: {
    id: 'integer',
    name: 'text',
    email: 'text',
    password_hash: 'text',
    role: 'label',
    created_at: 'time',
    updated_at: 'time',
    deleted_at: 'time',
  },
  teams: {
    id: 'integer',
    provider_customer_id: 'text',
    provider_subscription_id: 'text',
    provider_product_id: 'text',
    plan_name: 'text',
    subscription_status: 'text',
  },
};

/** The type of a missing column, and the types that fit, each after PostgreSQL's category for it. */
const TYPES: Record<Kind, { readonly name: string; readonly fits: RegExp }> = {
  integer: { name: 'integer', fits: /^N (smallint|integer|bigint)$/ },
  text: { name: 'text', fits: /^S / },
  label: { name: 'text', fits: /^[SE] / },
  time: { name: 'timestamptz', fits: /^D timestamp/ },
};

/** @throws ApplicationTablesUnfit with every problem of the tables `users` and `teams` */
export async function checkApplicationTables(query: Query): Promise<void> {
  const missing: string[] = [];
  const problems: string[] = [];
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const types = await readColumnTypes(query, table);
    if (types.size === 0) {
      missing.push(`the table ${table} is missing`);
      continue;
    }
    for (const [column, kind] of Object.entries(columns)) {
      const type = types.get(column);
      const { name, fits } = TYPES[kind];
      if (type === undefined) problems.push(`${table}.${column} (${name}) is missing`);
      else if (!fits.test(type))
        problems.push(`${table}.${column} is ${type.slice(2)}, not ${name}`);
    }
  }
  if (missing.length > 0) throw new ApplicationTablesUnfit(missing, CREATE_TABLE);
  if (problems.length > 0) throw new ApplicationTablesUnfit(problems, ALTER_COLUMNS);
}

/** The category and the name of each column's type: `S text`, `N integer`. */
async function readColumnTypes(query: Query, table: string): Promise<Map<string, string>> {
  const rows = await query<{ name: string; type: string }>({
    name: 'read_column_types',
    text: `
      select attname as name,
             typcategory::text || ' ' || format_type(atttypid, null) as type
        from pg_attribute
        join pg_type on pg_type.oid = atttypid
       where attrelid = to_regclass($1)
         and attnum > 0
         and not attisdropped`,
    values: [table],
  });
  return new Map(rows.map(({ name, type }) => [name, type]));
}

/** Whether an index finds the team of a customer; for a view it is assumed. */
export async function hasCustomerIndex(query: Query): Promise<boolean> {
  const [row] = await query<{ found: boolean }>({
    name: 'has_customer_index',
    text: `
      select relkind not in ('r', 'p')
             or exists (
                  select
                    from pg_index
                    join pg_attribute on attrelid = indrelid and attnum = indkey[0]
                   where indrelid = pg_class.oid
                     and attname = 'provider_customer_id'
                     and indisvalid
                     and (indpred is null
                          or pg_get_expr(indpred, indrelid) = '(provider_customer_id IS NOT NULL)')
                ) as found
        from pg_class
       where oid = to_regclass('teams')`,
  });
  return row?.found ?? false;
}

/** Whether teams have a name that this role can read: the contract's columns have none. */
export async function hasTeamNames(query: Query): Promise<boolean> {
  const rows = await query({
    name: 'has_team_names',
    text: `
      select
        from pg_attribute
       where attrelid = to_regclass('teams')
         and attname = 'name'
         and not attisdropped
         and has_column_privilege(attrelid, attnum, 'select')`,
  });
  return rows.length > 0;
}
