// The checks of the app's tables and of the schema `instep`. examine.ts calls them.

import {
  findHiddenRows,
  keptPlanName,
  neededPrivileges,
  onlyRow,
  type Query,
  type Recognition,
  type RecognizedTable,
  SchemaMismatch,
  writtenText,
} from 'instep-engine/postgres';
import { isAccessViewCurrent } from '../access/access-view.ts';
import { policyText, readPolicy } from '../access/team-access.ts';
import { checkWholeSchema } from '../database/schema.ts';
import { type Check, failure, ok, warning } from './check.ts';

export async function checkPrivileges(
  query: Query,
  { users, teams }: Recognition,
): Promise<Check[]> {
  const role = await quoteRole(query, null);
  const own = await ownPrivileges(query);
  const tables = [users, teams].filter((table) => table !== null);
  const lacking = [
    ...own.flatMap(({ privilege, isHeld }) => (isHeld ? [] : privilege)),
    ...tables.flatMap((table) => neededPrivileges(table, 'lacking')),
  ];
  if (lacking.length === 0) return [ok('privileges', 'complete')];
  const grants = lacking.map((privilege) => `grant ${privilege} to ${role};`);
  const result = `${role} lacks ${lacking.join(', ')}`;
  return [failure('privileges', result, `as the owner: ${grants.join(' ')}`)];
}

/** The tables on which policies hide rows from the role, or can hide some. */
export async function checkRowSecurity(query: Query, tables: Recognition): Promise<Check[]> {
  const hidden = await findHiddenRows(query, tables);
  return hidden.map(({ areAllHidden, text, policy, bypass }) => {
    const judge = areAllHidden ? failure : warning;
    return judge('row security', text, `as the owner: ${policy} or: ${bypass}`);
  });
}

export async function checkSchemaVersion(query: Query): Promise<Check[]> {
  try {
    await checkWholeSchema(query);
    return [ok('schema', 'up to date')];
  } catch (error) {
    if (!(error instanceof SchemaMismatch)) throw error;
    return [failure('schema', error.problem, error.advice)];
  }
}

export async function checkTables(
  query: Query,
  name: string,
  { unfit, users, teams }: Recognition,
): Promise<Check[]> {
  if (unfit !== null) return [failure(name, unfit.problems.join('; '), unfit.advice)];
  const kept = teams && keptPlanName(teams);
  const statement = teams && (await missingCustomerIndex(query, teams));
  const result = `${teams?.table.sql} has no index on the customer: each event reads all teams`;
  const warnings = [
    ...(kept ? [warning(name, kept.text, `as the owner: ${kept.statement}`)] : []),
    ...(statement === null ? [] : [warning(name, result, statement)]),
  ];
  if (warnings.length > 0) return warnings;
  const usable = [users, teams].flatMap((one) => one?.table.sql ?? []);
  const written = teams === null ? '' : `; written: ${writtenText(teams)}`;
  return [ok(name, `usable: ${usable.join(' and ')}${written}`)];
}

/**
 * The statement that creates the index for finding the team of a customer; `null` when there is one. A view
 * is assumed to have one.
 */
export async function missingCustomerIndex(
  query: Query,
  { table, columns }: RecognizedTable,
): Promise<string | null> {
  const customer = columns.find(({ field }) => field === 'providerCustomerId');
  const [row] = await query<{ statement: string }>({
    name: 'missing_customer_index',
    text: `
      select format('create index concurrently on %I.%I (%I);', nspname, relname, $3::name)
               as statement
        from pg_class
        join pg_namespace on pg_namespace.oid = relnamespace
       where nspname = $1
         and relname = $2
         and relkind in ('r', 'p')
         and not exists (
               select
                 from pg_index
                 join pg_attribute on attrelid = indrelid and attnum = indkey[0]
                where indrelid = pg_class.oid
                  and attname = $3
                  and indisvalid
                  and (indpred is null
                       or pg_get_expr(indpred, indrelid) = format('(%I IS NOT NULL)', attname))
             )`,
    values: [table.schema, table.name, customer?.name],
  });
  return row?.statement ?? null;
}

/** This role, or else the current one, quoted for `grant`. */
export async function quoteRole(query: Query, role: string | null): Promise<string> {
  const row = await onlyRow<{ role: string }>(query, {
    name: 'quote_role',
    text: 'select quote_ident(coalesce($1, current_user)) as role',
    values: [role],
  });
  return row.role;
}

/** What the role needs of Instep's own tables, in the syntax of `grant`, and whether it has it; none before they are there. */
export async function ownPrivileges(
  query: Query,
): Promise<{ readonly privilege: string; readonly isHeld: boolean }[]> {
  return await query({
    name: 'own_privileges',
    text: `
      with own as (
        select pg_class.oid, relname, relkind
          from pg_class
         where relnamespace = to_regnamespace('instep')
      )
      select 'usage on schema instep' as privilege, has_schema_privilege(oid, 'usage') as "isHeld"
        from pg_namespace
       where nspname = 'instep'
       union all
      select 'select, insert, update, delete, truncate on all tables in schema instep',
             bool_and(has_table_privilege(oid, privilege))
        from own
       cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as privilege
       where relkind = 'r' and relname <> 'migrations'
          or relkind in ('r', 'v') and privilege = 'select'
      having count(*) > 0
       union all
      select 'usage on all sequences in schema instep',
             -- The planner can evaluate this before the condition.
             bool_and(case relkind when 'S' then has_sequence_privilege(oid, 'usage') end)
        from own
       where relkind = 'S'
      having count(*) > 0`,
  });
}

/** Whether the view `instep.team_access` fits the tables, and the policy that it has. */
export async function checkAccess(query: Query, tables: Recognition): Promise<Check[]> {
  if (!(await isAccessViewCurrent(query, tables))) {
    const result = 'the view instep.team_access is missing or does not fit the tables';
    return [failure('access', result, 'as the owner of the schema instep: `instep migrate`')];
  }
  return [ok('access', policyText(await readPolicy(query)))];
}
