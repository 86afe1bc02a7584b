// Reads the app's tables from PostgreSQL's catalog, for recognize-tables.ts.

import { columnArrays, type Query } from '../named-statement.ts';
import type { Entity, WantedTables } from './application-tables.ts';

/** The usual table names, including Prisma's default ones. */
const USUAL_NAMES: Readonly<Record<Entity, readonly string[]>> = {
  users: ['users', 'User'],
  teams: ['teams', 'Team'],
  members: ['team_members', 'TeamMember'],
};

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
  readonly isView: boolean;
  readonly columns: ReadonlyMap<string, Column>;
};

/** Reads each table: the first one that exists of those with its declared or usual names. */
export async function readTables(
  query: Query,
  declared: WantedTables,
): Promise<ReadonlyMap<Entity, Table>> {
  const entities: readonly Entity[] =
    declared.profile === 'off' ? ['teams'] : ['users', 'teams', 'members'];
  const candidates = entities.flatMap((entity) => {
    const { schema = null, table } = declared[entity] ?? {};
    return (table === undefined ? USUAL_NAMES[entity] : [table]).map((name) => ({
      entity,
      schema,
      name,
    }));
  });
  type Row = Omit<Table, 'columns'> & { entity: Entity; columns: Column[] };
  const rows = await query<Row>(
    // Not prepared: it runs before anything shows that a pooler does not support that.
    `
      select distinct on (entity) entity,
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
        from unnest($1::text[], $2::text[], $3::text[]) with ordinality
          as candidate (entity, schema, name, preference)
       cross join lateral (
               select to_regclass(quote_ident(candidate.name))::oid
                where candidate.schema is null
                union all
               select pg_class.oid
                 from pg_class
                 join pg_namespace on pg_namespace.oid = relnamespace
                where nspname = candidate.schema
                  and relname = candidate.name
             ) as found (oid)
        join pg_class on pg_class.oid = found.oid
        join pg_namespace on pg_namespace.oid = relnamespace
       where relkind in ('r', 'p', 'v', 'm', 'f')
       order by entity, preference`,
    columnArrays(candidates, 'entity', 'schema', 'name'),
  );
  return new Map(
    rows.map(({ entity, columns, ...table }) => [
      entity,
      { ...table, columns: new Map(columns.map((column) => [column.name, column])) },
    ]),
  );
}
