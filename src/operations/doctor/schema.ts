import type { Query } from '../../postgres/database.ts';
import { checkSchema, SchemaNewer, SchemaOutdated } from '../../postgres/migrate.ts';
import {
  ApplicationTablesUnfit,
  checkApplicationTables,
  hasCustomerIndex,
} from '../../queries/application-tables.ts';
import { readLackingPrivileges } from '../../queries/privileges.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** Whether the role may do all that Instep does. */
export async function checkPrivileges(query: Query): Promise<Check[]> {
  const lacking = await readLackingPrivileges(query);
  const [first] = lacking;
  if (first === undefined) return [ok('privileges', 'all that are needed')];
  const privileges = lacking.map(({ privilege }) => privilege);
  const grants = privileges.map((privilege) => `grant ${privilege} to ${first.role};`);
  const says = `${first.role} lacks ${privileges.join(', ')}`;
  return [failure('privileges', says, `as the owner: ${grants.join(' ')}`)];
}

/** Whether Instep's own tables are those of this program. */
export async function checkSchemaVersion(query: Query): Promise<Check[]> {
  try {
    await checkSchema(query);
    return [ok('schema', 'up to date')];
  } catch (error) {
    if (error instanceof SchemaOutdated) {
      const [says = ''] = error.message.split(': ');
      return [failure('schema', says, 'run `instep migrate`, or restart the server')];
    }
    if (!(error instanceof SchemaNewer)) throw error;
    const [says = ''] = error.message.split(': ');
    return [failure('schema', says, 'run the newer Instep')];
  }
}

/** Whether the application's tables can be worked with. */
export async function checkTables(query: Query): Promise<Check[]> {
  try {
    await checkApplicationTables(query);
  } catch (error) {
    if (!(error instanceof ApplicationTablesUnfit)) throw error;
    const whatToDo = 'add or alter the columns, or put a view in the place of the table';
    return [failure('users and teams', error.problems.join('; '), whatToDo)];
  }
  if (await hasCustomerIndex(query)) return [ok('users and teams', 'fit')];
  const says = 'no index on teams.provider_customer_id: each event reads all teams';
  const whatToDo = 'create index concurrently on teams (provider_customer_id);';
  return [warning('users and teams', says, whatToDo)];
}
