// Which privileges and policies Instep needs on the app's tables: for the start, the doctor and `instep tables`.

import { PLAN_FIELDS } from '../../core/transition.ts';
import type { Query } from '../statement.ts';
import type { RecognizedColumn, RecognizedTable } from './recognize-tables.ts';

/** What Instep does with the tables, beyond reading them and writing plans. */
export type TableUse = {
  /** Whether it links teams by itself. */
  readonly linksTeams: boolean;
};

/**
 * The privileges that Instep needs on a table, in the syntax of `grant`: `select (id) on public.users`. If only the
 * lacking ones are asked for, those on columns that Instep can do without are left out.
 */
export function neededPrivileges(
  { entity, table, columns }: RecognizedTable,
  use: TableUse,
  which: 'all' | 'lacking',
): string[] {
  const on = (privilege: 'select' | 'update', some: readonly RecognizedColumn[]): string[] => {
    const held = privilege === 'select' ? 'canRead' : 'canWrite';
    const named = some.flatMap(({ column, isOptional }) =>
      column !== null && (which === 'all' || (!isOptional && !column[held])) ? column.sql : [],
    );
    return named.length === 0 ? [] : [`${privilege} (${named.join(', ')}) on ${table.sql}`];
  };
  return [
    ...(which === 'lacking' && table.isSchemaUsable ? [] : [`usage on schema ${table.schemaSql}`]),
    ...on('select', columns),
    ...on('update', entity === 'teams' ? columns.filter((one) => isWritten(one, use)) : []),
  ];
}

const WRITTEN: readonly string[] = [...PLAN_FIELDS, 'updatedAt'];

function isWritten({ field, column }: RecognizedColumn, { linksTeams }: TableUse): boolean {
  const isLink = linksTeams && field === 'providerCustomerId';
  return (isLink || WRITTEN.includes(field)) && column?.isUpdatable === true;
}

/** A table whose row level security hides rows from a role, or could. */
export type HiddenRows = {
  /** Whether every row is hidden: from reading, or from updates. Otherwise, policies decide. */
  readonly areAllHidden: boolean;
  /** What is wrong, such as `row level security hides public.teams from app`. */
  readonly text: string;
  /** Either of these statements of the table's owner, or of a superuser, shows all rows. */
  readonly policy: string;
  readonly bypass: string;
};

/**
 * The tables on which no policy shows all rows to this role (`null`: the current one), by PostgreSQL's catalog alone.
 * A view reads its tables as its owner, unless it is a view with `security_invoker`.
 */
export async function findHiddenRows(
  query: Query,
  { users, teams }: Readonly<Record<'users' | 'teams', Pick<RecognizedTable, 'table'> | null>>,
  role: string | null = null,
): Promise<HiddenRows[]> {
  // A lock on a row needs the policies for updates.
  const needed = [
    ...(users === null ? [] : [{ ...users.table, command: 'r' }]),
    ...(teams === null ? [] : ['r', 'w'].map((command) => ({ ...teams.table, command }))),
  ];
  type Row = { table: string; role: string; isUpdated: boolean; areAllHidden: boolean };
  const rows = await query<Row>({
    name: 'find_hidden_rows',
    text: `
      with recursive needed as (
        select pg_class.oid as relation, command, coalesce($4, current_user)::name as role
          from unnest($1::text[], $2::text[], $3::text[]) as needed (schema, name, command)
          join pg_namespace on nspname = needed.schema
          join pg_class on relnamespace = pg_namespace.oid and relname = needed.name
         union
        select dependency.refobjid,
               case when pg_relation_is_updatable(view.oid, false) & 4 > 0 then command else 'r' end,
               case when is_invoker then needed.role else pg_get_userbyid(view.relowner) end
          from needed
          join pg_class as view on view.oid = relation and view.relkind = 'v'
         cross join lateral (
                 select coalesce(bool_or(option_value::boolean), false)
                   from pg_options_to_table(view.reloptions)
                  where option_name = 'security_invoker'
               ) as options (is_invoker)
          join pg_rewrite on ev_class = view.oid
          join pg_depend as dependency
            on dependency.classid = 'pg_rewrite'::regclass
           and dependency.objid = pg_rewrite.oid
           and dependency.refclassid = 'pg_class'::regclass
           and dependency.refobjid <> view.oid
      )
      select format('%I.%I', nspname, relname) as "table",
             quote_ident(needed.role) as role,
             bool_or(command = 'w') as "isUpdated",
             bool_or(not has_policy) as "areAllHidden"
        from needed
        join pg_class on pg_class.oid = relation
        join pg_namespace on pg_namespace.oid = relnamespace
        left join pg_roles on rolname = needed.role
       cross join lateral (
               select count(*) filter (where polpermissive and polqual is not null) > 0 as has_policy,
                      coalesce(bool_or(is_open) filter (where polpermissive), false)
                      and coalesce(bool_and(is_open) filter (where not polpermissive), true)
                        as shows_all
                 from pg_policy
                cross join lateral (
                        select coalesce(pg_get_expr(polqual, polrelid), (not polpermissive)::text) = 'true'
                               and (command = 'r'
                                    or coalesce(pg_get_expr(polwithcheck, polrelid), 'true') = 'true')
                      ) as expressions (is_open)
                where polrelid = pg_class.oid
                  and polcmd::text in ('*', command)
                  and exists (
                        select
                          from unnest(polroles) as subject (id)
                         where id = 0
                            or pg_has_role(pg_roles.oid, id, 'usage')
                      )
             ) as policies
       where relrowsecurity
         and not coalesce(rolsuper or rolbypassrls, false)
         and (relforcerowsecurity
              or not coalesce(pg_has_role(pg_roles.oid, relowner, 'usage'), false))
         and not shows_all
       group by nspname, relname, needed.role
       order by nspname, relname, needed.role`,
    values: [
      needed.map(({ schema }) => schema),
      needed.map(({ name }) => name),
      needed.map(({ command }) => command),
      role,
    ],
  });
  return rows.map(({ table, role, isUpdated, areAllHidden }) => ({
    areAllHidden,
    text: areAllHidden
      ? `row level security hides all rows of ${table} from ${role}, or refuses their updates`
      : `policies of ${table} can hide rows from ${role}`,
    policy: isUpdated
      ? `create policy instep on ${table} to ${role} using (true) with check (true);`
      : `create policy instep on ${table} for select to ${role} using (true);`,
    bypass: `alter role ${role} bypassrls;`,
  }));
}
