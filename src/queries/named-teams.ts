import type { ApplicationId } from '../core/application-id.ts';
import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom, startAfter } from './id-from-text.ts';
import { type PageAfter, TEAM, type Team, type TeamRow } from './teams.ts';

/** A team with its name, for people. */
export type NamedTeam = Team & {
  /** `null` where the application's table has no names. */
  readonly name: string | null;
};

type NamedTeamRow = TeamRow & { readonly name: string | null };

const READ_NAMED_TEAMS = ({ teams }: ApplicationTables) => `
      select ${TEAM}, name
        from ${teams.rows} as teams
       where id > ${startAfter(teams.idType, '$1::text')}
       order by id
       limit $2`;

/** A page of teams. */
export async function readNamedTeams(query: Query, page: PageAfter): Promise<NamedTeam[]> {
  const values = [page.afterId, page.limit];
  const name = 'read_named_teams';
  return toTeams(await query<NamedTeamRow>({ name, text: READ_NAMED_TEAMS, values }));
}

/** The team with this id, or `null`. */
export async function readNamedTeam(query: Query, id: ApplicationId): Promise<NamedTeam | null> {
  return (await readTeamsById(query, [id]))[0] ?? null;
}

const READ_TEAMS_BY_ID = ({ teams }: ApplicationTables) => `
      select ${TEAM}, name
        from ${teams.rows} as teams
       where id = any (array(
               select ${idFrom(teams.idType, 'asked.id')}
                 from unnest($1::text[]) as asked (id)
             ))
       order by id`;

/** These teams, in the order of their ids. */
export async function readTeamsById(
  query: Query,
  ids: readonly ApplicationId[],
): Promise<NamedTeam[]> {
  const name = 'read_teams_by_id';
  return toTeams(await query<NamedTeamRow>({ name, text: READ_TEAMS_BY_ID, values: [ids] }));
}

const READ_NAMED_TEAMS_OF = ({ teams }: ApplicationTables) => `
      select ${TEAM}, name
        from ${teams.rows} as teams
       where provider_customer_id = any ($1::text[])
       order by id
       limit $2`;

/** The first teams of these customers, in the order of their ids. */
export async function readNamedTeamsOf(
  query: Query,
  customerIds: readonly string[],
  limit: number,
): Promise<NamedTeam[]> {
  const values = [customerIds, limit];
  const name = 'read_named_teams_of';
  return toTeams(await query<NamedTeamRow>({ name, text: READ_NAMED_TEAMS_OF, values }));
}

function toTeams(rows: readonly NamedTeamRow[]): NamedTeam[] {
  return rows.map(({ id, name, customerId, ...plan }) => ({ id, name, customerId, plan }));
}

export type NameSearch = {
  /** A part of the name, in upper or lower case. */
  readonly text: string;
  readonly afterId: ApplicationId | null;
  /** How many teams are searched. */
  readonly lookedAt: number;
  readonly limit: number;
};

// No index of the application's finds a part of a name, so a range of the table is read.
const SEARCH_TEAM_NAMES = ({ teams }: ApplicationTables) => `
      with searched as materialized (
        select id, name
          from ${teams.rows} as teams
         where id > ${startAfter(teams.idType, '$1::text')}
           and ${teams.hasNames}
         order by id
         limit $2
      ), found as (
        select id
          from searched
         where strpos(lower(name), lower($3)) > 0
         order by id
         limit $4
      )
      select last.id as "lastId", found.id
        from (select (select id from searched order by id desc limit 1) as id) as last
        left join found on true
       order by found.id`;

/** Teams with this name among the next ones after an id; and the last id that was searched. */
export async function searchTeamNames(
  query: Query,
  { text, afterId, lookedAt, limit }: NameSearch,
): Promise<{ ids: ApplicationId[]; lastId: ApplicationId | null }> {
  const rows = await query<{ lastId: ApplicationId | null; id: ApplicationId | null }>({
    name: 'search_team_names',
    text: SEARCH_TEAM_NAMES,
    values: [afterId, lookedAt, text, limit],
  });
  return { ids: rows.flatMap(({ id }) => id ?? []), lastId: rows[0]?.lastId ?? null };
}
