// Finds the table of teams where it has neither the usual name nor a declared one: recognize-tables.ts calls this.

import type { Query } from '../named-statement.ts';
import type { DeclaredTable, TeamField } from './application-tables.ts';

/** A table with a column for Stripe's customer beside one of a plan. */
export type TeamsCandidate = {
  readonly schema: string;
  readonly name: string;
  readonly column: string;
  /** Whether the column's name says that it holds customers of Stripe. */
  readonly isNamed: boolean;
};

/** Many apps have something else in columns with these names, such as a subscription or the customer of a shop. */
const VAGUE_NAMES: readonly string[] = ['stripe_id', 'customer_id'];

/**
 * The tables of the search path, or of the declared schema, that can be the one of teams. Of a column with a vague name,
 * it reads up to 100 values.
 */
export async function findTeamsTables(
  query: Query,
  names: readonly string[],
  declared: DeclaredTable<TeamField> = {},
): Promise<TeamsCandidate[]> {
  const named = declared.columns?.providerCustomerId;
  const possible = typeof named === 'string' ? [named] : [...names, ...VAGUE_NAMES];
  const rows = await query<TeamsCandidate & { values: string }>({
    name: 'find_teams_tables',
    text: `
      select nspname as schema,
             relname as name,
             attname as column,
             attname <> all ($2::text[]) as "isNamed",
             format('select %I::text as value from %I.%I where %1$I is not null limit 100',
                    attname, nspname, relname) as values
        from pg_class
        join pg_namespace on pg_namespace.oid = relnamespace
        join pg_attribute as customer on attrelid = pg_class.oid
        join pg_type on pg_type.oid = atttypid
       where relkind in ('r', 'p')
         and not relispartition
         and nspname <> 'instep'
         and case
               when $3::text is null then pg_table_is_visible(pg_class.oid) and nspname = any (current_schemas(false))
               else nspname = $3
             end
         and attname = any ($1::text[])
         and attnum > 0
         and not attisdropped
         and (attname <> all ($2::text[])
              or (typcategory = 'S'
                  and has_schema_privilege(pg_namespace.oid, 'usage')
                  and has_column_privilege(attrelid, attnum, 'select')))
         and exists (
               select
                 from pg_attribute as plan
                where plan.attrelid = pg_class.oid
                  and plan.attnum > 0
                  and not plan.attisdropped
                  and plan.attname ~* 'plan|product|price|period|status'
             )
       order by nspname, relname, array_position($1::text[], attname::text)`,
    values: [possible, typeof named === 'string' ? [] : VAGUE_NAMES, declared.schema ?? null],
  });
  const found = new Map<string, TeamsCandidate>();
  for (const { values, ...candidate } of rows) {
    const place = JSON.stringify([candidate.schema, candidate.name]);
    if (found.has(place)) continue;
    if (candidate.isNamed || (await areCustomers(query, values))) found.set(place, candidate);
  }
  return [...found.values()];
}

async function areCustomers(query: Query, values: string): Promise<boolean> {
  const rows = await query<{ value: string }>(values);
  return rows.length > 0 && rows.every(({ value }) => /^(?:cus|acct)_/.test(value));
}

/** The declaration that selects the candidate. */
export function declarationOf(
  { schema, name, column, isNamed }: TeamsCandidate,
  declared: DeclaredTable<TeamField> = {},
): DeclaredTable<TeamField> {
  const columns = isNamed ? declared.columns : { providerCustomerId: column, ...declared.columns };
  return { ...declared, schema, table: name, ...(columns && { columns }) };
}
