import type { Query } from '../../postgres/database.ts';
import { checkSchema, SchemaNewer, SchemaOutdated } from '../../postgres/migrate.ts';
import type { DeclaredTables } from '../../postgres/tables/application-tables.ts';
import { recognize } from '../../postgres/tables/recognize.ts';
import { missingCustomerIndex } from '../../queries/customer-index.ts';
import { readLackingPrivileges } from '../../queries/privileges.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** Whether the role has every privilege that Instep uses. */
export async function checkPrivileges(query: Query): Promise<Check[]> {
  const lacking = await readLackingPrivileges(query);
  const [first] = lacking;
  if (first === undefined) return [ok('privileges', 'complete')];
  const privileges = lacking.map(({ privilege }) => privilege);
  const grants = privileges.map((privilege) => `grant ${privilege} to ${first.role};`);
  const finding = `${first.role} lacks ${privileges.join(', ')}`;
  return [failure('privileges', finding, `as the owner: ${grants.join(' ')}`)];
}

/** Whether Instep's own tables are those of this program. */
export async function checkSchemaVersion(query: Query): Promise<Check[]> {
  try {
    await checkSchema(query);
    return [ok('schema', 'up to date')];
  } catch (error) {
    if (!(error instanceof SchemaOutdated || error instanceof SchemaNewer)) throw error;
    const [finding = '', advice = ''] = error.message.split(': ');
    return [failure('schema', finding, advice)];
  }
}

/** Whether Instep can work with the application's tables. */
export async function checkTables(query: Query, declared: DeclaredTables): Promise<Check[]> {
  const name = 'users and teams';
  const { unfit, users, teams } = await recognize(query, declared);
  if (unfit !== null) return [failure(name, unfit.problems.join('; '), unfit.advice)];
  const statement = teams === null ? null : await missingCustomerIndex(query, teams);
  if (statement === null) {
    const places = [users, teams].map((one) => `${one?.table.schema}.${one?.table.name}`);
    return [ok(name, `usable: ${places.join(' and ')}`)];
  }
  const finding = 'no index finds the team of a customer: each event reads all teams';
  return [warning(name, finding, statement)];
}
