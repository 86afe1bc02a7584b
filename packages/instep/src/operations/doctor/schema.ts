import type { Query } from '../../postgres/database.ts';
import { checkSchema, SchemaNewer, SchemaOutdated } from '../../postgres/migrate.ts';
import { lackingPrivileges, type Recognition } from '../../postgres/tables/recognize-tables.ts';
import { type Check, failure, ok, warning } from './check.ts';
import { missingCustomerIndex } from './customer-index.ts';
import { readLackingPrivileges } from './privileges.ts';

/** Whether the role has every privilege that Instep uses. */
export async function checkPrivileges(
  query: Query,
  { users, teams }: Recognition,
): Promise<Check[]> {
  const own = await readLackingPrivileges(query, {
    createsTables: users === null && teams === null,
  });
  const tables = [users, teams].filter((table) => table !== null);
  const lacking = [...own.privileges, ...tables.flatMap(lackingPrivileges)];
  if (lacking.length === 0) return [ok('privileges', 'complete')];
  const grants = lacking.map((privilege) => `grant ${privilege} to ${own.role};`);
  const finding = `${own.role} lacks ${lacking.join(', ')}`;
  return [failure('privileges', finding, `as the owner: ${grants.join(' ')}`)];
}

/** Whether Instep's own tables are those of this program. */
export async function checkSchemaVersion(query: Query): Promise<Check[]> {
  try {
    await checkSchema(query);
    return [ok('schema', 'up to date')];
  } catch (error) {
    if (error instanceof SchemaOutdated) {
      const finding = `the database lacks ${error.pending.join(', ')}`;
      return [failure('schema', finding, 'run `instep migrate`')];
    }
    if (!(error instanceof SchemaNewer)) throw error;
    const finding = `the database is at migration ${error.applied}, but this version of Instep knows only ${error.known}`;
    return [failure('schema', finding, 'run the newer version')];
  }
}

/** Whether Instep can work with the application's tables. */
export async function checkTables(
  query: Query,
  { unfit, users, teams }: Recognition,
): Promise<Check[]> {
  const name = 'users and teams';
  if (unfit !== null) return [failure(name, unfit.problems.join('; '), unfit.advice)];
  const statement = teams === null ? null : await missingCustomerIndex(query, teams);
  if (statement === null) {
    return [ok(name, `usable: ${users?.table.sql} and ${teams?.table.sql}`)];
  }
  const finding = `${teams?.table.sql} has no index on the customer: each event reads all teams`;
  return [warning(name, finding, statement)];
}
