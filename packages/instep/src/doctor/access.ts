import { policyText, readPolicy } from '../access/team-access.ts';
import type { AccessPolicy } from '../config/config.ts';
import { isAccessViewCurrent } from '../postgres/access-view.ts';
import type { Query } from '../postgres/database.ts';
import type { Recognition } from '../postgres/tables/recognize-tables.ts';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = 'access';

/** Whether the view `instep.team_access` fits the tables, and has the policy of this environment. */
export async function checkAccess(
  query: Query,
  tables: Recognition,
  policy: AccessPolicy | null,
): Promise<Check[]> {
  if (!(await isAccessViewCurrent(query, tables))) {
    const finding = 'the view instep.team_access is missing or does not fit the tables';
    return [failure(NAME, finding, 'as the owner of the schema instep: `instep migrate`')];
  }
  const text = policyText(await readPolicy(query));
  if (policy !== null && policyText(policy) !== text) {
    const finding = `the policy is ${text}, but this environment has ${policyText(policy)}`;
    return [warning(NAME, finding, 'restart the server, or correct the environment')];
  }
  return [ok(NAME, text)];
}
