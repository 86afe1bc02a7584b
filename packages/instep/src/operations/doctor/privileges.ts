import type { Query } from '../../postgres/database.ts';

/** This role, or else the current one, quoted for `grant`. */
export async function quoteRole(query: Query, role: string | null): Promise<string> {
  const [row] = await query<{ role: string }>({
    name: 'quote_role',
    text: 'select quote_ident(coalesce($1, current_user)) as role',
    values: [role],
  });
  if (row === undefined) throw new RangeError('a select without tables has one row');
  return row.role;
}

type LackingPrivileges = {
  /** The role that lacks them, in the syntax of `grant`. */
  readonly role: string;
  /** In the syntax of `grant`: `select on instep.events`. */
  readonly privileges: readonly string[];
};

/** The privileges that Instep lacks on its own tables, or to create them and the application's. */
export async function readLackingPrivileges(
  query: Query,
  { createsTables }: { readonly createsTables: boolean },
): Promise<LackingPrivileges> {
  const [row] = await query<LackingPrivileges>({
    name: 'read_lacking_privileges',
    // A privilege on any column is enough where columns can be granted. Only a migration needs `create`, and
    // an upgrade requires the owner of the tables anyway.
    text: `
      with instep as materialized (
        select pg_class.oid, relname, relkind
          from pg_class
          join pg_namespace on pg_namespace.oid = relnamespace
         where nspname = 'instep'
           and relkind in ('r', 'S')
      ), needed (privilege, is_held) as (
        select 'create on database ' || quote_ident(current_database()),
               has_database_privilege(current_database(), 'create')
         where to_regnamespace('instep') is null
         union all
        select 'create on schema ' || quote_ident(current_schema()),
               has_schema_privilege(current_schema(), 'create')
         where $1
         union all
        select 'usage on schema instep', has_schema_privilege(oid, 'usage')
          from pg_namespace
         where nspname = 'instep'
         union all
        select 'select on instep.migrations', has_any_column_privilege(oid, 'select')
          from instep
         where relname = 'migrations'
         union all
        select format('%s on instep.%I', privilege, relname),
               has_any_column_privilege(oid, privilege)
          from instep
         cross join unnest(array['select', 'insert', 'update']) as privilege
         where relkind = 'r'
           and relname <> 'migrations'
         union all
        select format('%s on instep.%I', privilege, relname), has_table_privilege(oid, privilege)
          from instep
          join (values ('events', 'delete'),
                       ('dismissed_events', 'delete'),
                       ('findings', 'delete'),
                       ('operator_actions', 'delete'),
                       ('runs', 'delete'),
                       ('statistics', 'delete'),
                       ('statistics_parked', 'delete'),
                       ('listed_subscriptions', 'truncate'))
            as emptied (relname, privilege) using (relname)
         union all
        select format('usage on sequence instep.%I', relname),
               -- The planner can evaluate this before the condition on the name.
               case relkind when 'S' then has_sequence_privilege(oid, 'usage') end
          from instep
         where relname = 'events_position_seq'
      )
      select quote_ident(current_user) as role,
             array(select privilege from needed where not is_held) as privileges`,
    values: [createsTables],
  });
  if (row === undefined) throw new RangeError('a select without tables has one row');
  return row;
}
