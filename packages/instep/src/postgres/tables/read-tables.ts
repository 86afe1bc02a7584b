import type { Query } from '../statement.ts';
import type { Candidate, Role } from './fields.ts';

/** A column as PostgreSQL describes it. */
export type Column = {
  readonly name: string;
  /** The name as used in statements: quoted if necessary. */
  readonly sql: string;
  readonly type: string;
  /** PostgreSQL's category of the type: `S` for text, `N` for numbers. */
  readonly category: string;
  /** Whether this role has the privilege to read it. */
  readonly canRead: boolean;
  /** Whether this role has the privilege to update it. */
  readonly canWrite: boolean;
  /** Whether it can be updated at all: neither generated nor computed by a view. */
  readonly isUpdatable: boolean;
};

/** A table or view as PostgreSQL describes it. */
export type Table = {
  readonly schema: string;
  readonly name: string;
  /** Schema and name as used in statements: `public."Team"`. */
  readonly sql: string;
  readonly schemaSql: string;
  readonly isSchemaUsable: boolean;
  readonly isView: boolean;
  readonly columns: ReadonlyMap<string, Column>;
};

/** Reads, for each table, the first of its candidates that exists. */
export async function readTables(
  query: Query,
  candidates: Readonly<Record<Role, readonly Candidate[]>>,
): Promise<ReadonlyMap<Role, Table>> {
  const asked = (['users', 'teams'] as const).flatMap((role) =>
    candidates[role].map((candidate) => ({ role, ...candidate })),
  );
  type Row = Omit<Table, 'columns'> & { role: Role; columns: Column[] };
  const rows = await query<Row>({
    name: 'read_application_tables',
    text: `
      select distinct on (role) role,
             nspname as schema,
             relname as name,
             format('%I.%I', nspname, relname) as sql,
             quote_ident(nspname) as "schemaSql",
             has_schema_privilege(pg_namespace.oid, 'usage') as "isSchemaUsable",
             relkind not in ('r', 'p') as "isView",
             (
               select coalesce(json_agg(json_build_object(
                        'name', attname,
                        'sql', quote_ident(attname),
                        'type', format_type(atttypid, null),
                        'category', typcategory,
                        'canRead', has_column_privilege(attrelid, attnum, 'select'),
                        'canWrite', has_column_privilege(attrelid, attnum, 'update'),
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
        from unnest($1::text[], $2::text[], $3::text[]) with ordinality
          as asked (role, schema, name, preference)
       cross join lateral (
               select to_regclass(quote_ident(asked.name))::oid
                where asked.schema is null
                union all
               select pg_class.oid
                 from pg_class
                 join pg_namespace on pg_namespace.oid = relnamespace
                where nspname = asked.schema
                  and relname = asked.name
             ) as found (oid)
        join pg_class on pg_class.oid = found.oid
        join pg_namespace on pg_namespace.oid = relnamespace
       where relkind in ('r', 'p', 'v', 'm', 'f')
       order by role, preference`,
    values: [
      asked.map(({ role }) => role),
      asked.map(({ schema }) => schema),
      asked.map(({ table }) => table),
    ],
  });
  return new Map(
    rows.map(({ role, columns, ...table }) => [
      role,
      { ...table, columns: new Map(columns.map((one) => [one.name, one])) },
    ]),
  );
}
