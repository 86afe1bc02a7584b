// Reads from PostgreSQL's catalog what can be the app's tables, for recognize-tables.ts.

import type { Query } from '../statement.ts';

/** A column as PostgreSQL describes it. */
export type Column = {
  readonly name: string;
  /** The name as used in statements: quoted if necessary. */
  readonly sql: string;
  readonly type: string;
  /** PostgreSQL's category of the type: `S` for text, `N` for numbers. */
  readonly category: string;
  readonly canRead: boolean;
  readonly canWrite: boolean;
  /** Whether it can be updated at all: neither generated nor computed by a view. */
  readonly isUpdatable: boolean;
  readonly isNullable: boolean;
  /** The values of an enumeration; `null`: it is none. */
  readonly labels: readonly string[] | null;
};

/** A table or view as PostgreSQL describes it. */
export type Table = {
  readonly schema: string;
  readonly name: string;
  /** Schema and name as used in statements: `public."Team"`. */
  readonly sql: string;
  readonly schemaSql: string;
  readonly isSchemaUsable: boolean;
  /** Whether its name alone leads to it, on the search path. */
  readonly isVisible: boolean;
  readonly isView: boolean;
  /** Whether it is a table that can be found without its name: no part of another one, and none of Instep's. */
  readonly isWhole: boolean;
  readonly columns: ReadonlyMap<string, Column>;
};

type Wanted = {
  /** Tables and views with these names. */
  readonly names: readonly string[];
  /** Tables with one of these columns. */
  readonly withColumns: readonly string[];
  /** Besides the search path. */
  readonly schemas: readonly string[];
};

/** The tables and views of the search path, and of other schemas, that have one of the names or columns. */
export async function readTables(
  query: Query,
  { names, withColumns, schemas }: Wanted,
): Promise<readonly Table[]> {
  type Row = Omit<Table, 'columns'> & { columns: Column[] };
  const rows = await query<Row>(
    // Not prepared: it runs before anything shows that a pooler does not support that.
    `
      select nspname as schema,
             relname as name,
             format('%I.%I', nspname, relname) as sql,
             quote_ident(nspname) as "schemaSql",
             has_schema_privilege(pg_namespace.oid, 'usage') as "isSchemaUsable",
             pg_table_is_visible(pg_class.oid) as "isVisible",
             relkind not in ('r', 'p') as "isView",
             is_whole as "isWhole",
             (
               select coalesce(json_agg(json_build_object(
                        'name', attname,
                        'sql', quote_ident(attname),
                        'type', format_type(atttypid, null),
                        'category', typcategory,
                        'canRead', has_column_privilege(attrelid, attnum, 'select'),
                        'canWrite', has_column_privilege(attrelid, attnum, 'update'),
                        'isNullable', not (attnotnull or typnotnull),
                        'labels', (select json_agg(enumlabel) from pg_enum where enumtypid = atttypid),
                        'isUpdatable', case
                                         when relkind in ('r', 'p') then attgenerated = ''
                                         -- It locks the relation, so a locked table is not asked.
                                         else pg_column_is_updatable(attrelid, attnum, true)
                                       end
                      ) order by attnum), '[]')
                 from pg_attribute
                 join pg_type on pg_type.oid = atttypid
                where attrelid = pg_class.oid
                  and attnum > 0
                  and not attisdropped
             ) as columns
        from pg_class
        join pg_namespace on pg_namespace.oid = relnamespace
       cross join lateral (
               select relkind in ('r', 'p')
                      and not relispartition
                      and nspname <> all ('{instep, pg_catalog, information_schema}') as is_whole
             ) as kind
       where relkind in ('r', 'p', 'v', 'm', 'f')
         and (nspname = any ($3::text[]) or pg_table_is_visible(pg_class.oid))
         and (
               relname = any ($1::text[])
               or is_whole and exists (
                    select
                      from pg_attribute
                     where attrelid = pg_class.oid
                       and attname = any ($2::text[])
                       and attnum > 0
                       and not attisdropped
                  )
             )
       order by nspname, relname`,
    [names, withColumns, schemas],
  );
  return rows.map(({ columns, ...table }) => ({
    ...table,
    columns: new Map(columns.map((column) => [column.name, column])),
  }));
}
