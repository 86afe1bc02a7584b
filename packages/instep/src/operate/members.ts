// The people of teams, if a table says which users belong to which teams.

import type { ApplicationId } from '../core/application.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';
import { InstepError } from '../runtime/errors.ts';
import type { OperateContext } from './context.ts';

/** No team can be found by a person's email address: no table says which users belong to which teams. */
export class MembersUnknown extends InstepError {
  readonly code = 'MEMBERS_UNKNOWN';

  constructor() {
    super(
      'no table of members was recognized, so teams can not be found by the email address of a person: ' +
        'declare it as `members` in INSTEP_TABLES (docs/configuration.md)',
    );
  }
}

/** SQL for the users of teams who are not deleted. @throws MembersUnknown */
function members({ members, users }: ApplicationTables): string {
  if (members === null) throw new MembersUnknown();
  return `
               ${members.rows} as member
                 join ${users.rows} as person
                   on person.id = member.user_id
                  and person.deleted_at is null`;
}

/**
 * SQL for the ids of the teams of the people with this email address, as it was entered or in lower case, as apps store
 * it. An index on the app's column finds both.
 *
 * @throws MembersUnknown
 */
export const teamIdsOfEmail = (tables: ApplicationTables, parameter: string) => `array(
               select member.team_id
                 from ${members(tables)}
                where person.email in (${parameter}, lower(${parameter}))
             )`;

const NO_PEOPLE = 'select $1::text[], $2::bigint where false';

const READ_PEOPLE = (tables: ApplicationTables) =>
  tables.members === null
    ? NO_PEOPLE
    : `
      select asked.id as "teamId",
             array(
               select person.email
                 from ${members(tables)}
                where member.team_id = ${idFrom(tables.teams.idType, 'asked.id')}
                order by person.email
                limit $2
             ) as emails
        from unnest($1::text[]) as asked (id)`;

/** The number of people of each team that are read. */
const MAX_PEOPLE = 3;

/**
 * The email addresses of the first people of each team, by the team's id as text; none if no table says which users
 * belong to which teams.
 *
 * @example
 * ```ts
 * console.log((await readPeople(context, [1])).get('1')); // undefined
 * ```
 */
export async function readPeople(
  { database: { query } }: OperateContext,
  teamIds: readonly ApplicationId[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await query<{ readonly teamId: string; readonly emails: readonly string[] }>({
    name: 'read_people',
    text: READ_PEOPLE,
    values: [teamIds.map(String), MAX_PEOPLE],
  });
  return new Map(rows.map(({ teamId, emails }) => [teamId, emails]));
}
