import type { Query } from '../../postgres/database.ts';
import { checkSchema, SchemaNewer, SchemaOutdated } from '../../postgres/migrate.ts';
import {
  ApplicationTablesUnfit,
  checkApplicationTables,
  hasCustomerIndex,
} from '../../queries/application-tables.ts';
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
export async function checkTables(query: Query): Promise<Check[]> {
  const name = 'users and teams';
  try {
    await checkApplicationTables(query);
  } catch (error) {
    if (!(error instanceof ApplicationTablesUnfit)) throw error;
    return [failure(name, error.problems.join('; '), error.advice)];
  }
  if (await hasCustomerIndex(query)) return [ok(name, 'usable')];
  const finding = 'teams.provider_customer_id has no index: each event reads all teams';
  const advice = 'create index concurrently on teams (provider_customer_id);';
  return [warning(name, finding, advice)];
}
