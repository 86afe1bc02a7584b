// The people of teams, if a table says which users belong to which teams.

import type { ApplicationTables } from 'instep-engine/postgres';

/**
 * SQL for the teams (`team_id`) of the people with one of these addresses (`email`, in lower case), which are entered or in
 * lower case, as apps store them: an index on the app's column finds both. No row without a table of members, or without users.
 */
export function teamsOfEmails({ teams, users, members }: ApplicationTables, parameter: string) {
  return users === null || members === null
    ? `select id as team_id, null as email from ${teams.rows} as teams where null = any (${parameter}::text[])`
    : `
               select member.team_id, lower(person.email) as email
                 from ${members.rows} as member
                 join ${users.rows} as person
                   on person.id = member.user_id
                where person.deleted_at is null
                  and person.email = any (${parameter}::text[])`;
}
