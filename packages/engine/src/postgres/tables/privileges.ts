// Which privileges and policies Instep needs on the app's tables: for the start, the doctor and `instep tables`.

import { PLAN_FIELDS } from '../../rule/plan-fields.ts';
import { columnArrays, type Query } from '../statement.ts';
import type { RecognizedColumn, RecognizedTable } from './recognized-tables.ts';

/**
 * The privileges that Instep needs on a table, in the syntax of `grant`: `select (id) on public.users`. If only the
 * lacking ones are asked for, those on columns that Instep can do without are left out.
 */
export function neededPrivileges(
  { entity, table, columns }: RecognizedTable,
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
    ...on('update', entity === 'teams' ? columns.filter(isWritten) : []),
  ];
}

/** Of a team. Links write its customer. */
const WRITTEN: readonly string[] = [
  'providerCustomerId',
  ...PLAN_FIELDS.map(({ name }) => name),
  'updatedAt',
];

const isWritten = ({ field, column }: RecognizedColumn) =>
  WRITTEN.includes(field) && column?.isUpdatable === true;

/** A table with row level security, without a policy that shows a role all of its rows. */
export type HiddenRows = {
  /** Whether no policy shows any row: to readers, or to updates. Otherwise, policies decide. */
  readonly areAllHidden: boolean;
  /** What is wrong, such as `row level security hides all rows of public.teams from app`. */
  readonly text: string;
  /** Either of these statements of the table's owner, or of a superuser, shows all rows. */
  readonly policy: string;
  readonly bypass: string;
};

/** The tables of which row level security can hide rows from this role (`null`: the current one). */
export async function findHiddenRows(
  query: Query,
  { users, teams }: Readonly<Record<'users' | 'teams', Pick<RecognizedTable, 'table'> | null>>,
  role: string | null = null,
): Promise<HiddenRows[]> {
  // A lock on a row needs the policies for updates.
  const needed = [
    ...(users === null ? [] : [{ ...users.table, command: 'SELECT' }]),
    ...(teams === null ? [] : ['SELECT', 'UPDATE'].map((command) => ({ ...teams.table, command }))),
  ];
  type Row = { table: string; role: string; isUpdated: boolean; areAllHidden: boolean };
  const rows = await query<Row>({
    name: 'find_hidden_rows',
    text: `
      select format('%I.%I', nspname, relname) as "table",
             quote_ident(rolname) as role,
             bool_or(command = 'UPDATE') as "isUpdated",
             bool_or(not shows_some) as "areAllHidden"
        from unnest($1::text[], $2::text[], $3::text[]) as needed (schema, name, command)
        join pg_namespace on nspname = needed.schema
        join pg_class on relnamespace = pg_namespace.oid and relname = needed.name
        join pg_roles on rolname = coalesce($4, current_user)
       cross join lateral (
               select count(qual) > 0 as shows_some,
                      coalesce(bool_or(qual = 'true'), false) as shows_all
                 from pg_policies
                where schemaname = nspname
                  and tablename = relname
                  and permissive = 'PERMISSIVE'
                  and cmd in ('ALL', command)
                  and exists (
                        select
                          from unnest(roles) as subject (name)
                         where case subject.name
                                 when 'public' then true
                                 else pg_has_role(rolname, subject.name, 'usage')
                               end
                      )
             ) as policies
       where relrowsecurity
         and not (rolsuper or rolbypassrls)
         and (relforcerowsecurity or not pg_has_role(pg_roles.oid, relowner, 'usage'))
         and not shows_all
       group by nspname, relname, rolname
       order by nspname, relname`,
    values: [...columnArrays(needed, 'schema', 'name', 'command'), role],
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
