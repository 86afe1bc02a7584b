// The people of teams, if a table says which users belong to which teams.

import { type ApplicationTables, usersOf } from 'instep-engine/postgres';
import { InstepError } from 'instep-engine/runtime';

/** No team can be found by a person's email address: no table says which users belong to which teams. */
export class MembersUnknown extends InstepError {
  readonly code = 'MEMBERS_UNKNOWN';

  constructor() {
    super(
      'no table of members was recognized, so teams can not be found by the email address of a person: ' +
        'declare it as `members` in INSTEP_TABLES (docs/your-tables.md)',
    );
  }
}

/**
 * SQL for the ids of the teams of the people with this email address, as it was entered or in lower case, as apps store
 * it. An index on the app's column finds both.
 *
 * @throws MembersUnknown, ProfileOff
 */
export function teamIdsOfEmail(tables: ApplicationTables, parameter: string): string {
  const users = usersOf(tables);
  if (tables.members === null) throw new MembersUnknown();
  return `array(
               select member.team_id
                 from ${tables.members.rows} as member
                 join ${users.rows} as person
                   on person.id = member.user_id
                where person.deleted_at is null
                  and person.email in (${parameter}, lower(${parameter}))
             )`;
}
