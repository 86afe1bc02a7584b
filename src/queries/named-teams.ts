import type { Query } from '../postgres/database.ts';
import { hasTeamNames } from './application-tables.ts';
import { TEAM, type Team, type TeamRow } from './teams.ts';

/** A team with its name, for people. */
export type NamedTeam = Team & {
  /** `null` where the application's table has no names. */
  readonly name: string | null;
};

/** Teams after this id, in the order of their ids. */
export async function readNamedTeams(
  query: Query,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<NamedTeam[]> {
  return await select(query, 'where id > $1::bigint order by id limit $2', [afterId, limit]);
}

/** The team with this id, or `null`. */
export async function readNamedTeam(query: Query, id: number): Promise<NamedTeam | null> {
  return (await readTeamsById(query, [id]))[0] ?? null;
}

/** These teams, in the order of their ids. */
export async function readTeamsById(query: Query, ids: readonly number[]): Promise<NamedTeam[]> {
  return await select(query, 'where id = any ($1::bigint[]) order by id', [ids]);
}

/** The first teams of these customers, in the order of their ids. */
export async function readNamedTeamsOf(
  query: Query,
  customerIds: readonly string[],
  limit: number,
): Promise<NamedTeam[]> {
  const condition = 'where provider_customer_id = any ($1::text[]) order by id limit $2';
  return await select(query, condition, [customerIds, limit]);
}

async function select(
  query: Query,
  condition: string,
  values: readonly unknown[],
): Promise<NamedTeam[]> {
  const name = (await hasTeamNames(query)) ? 'name::text' : 'null::text';
  const rows = await query<TeamRow & { readonly name: string | null }>({
    name: 'read_named_teams',
    text: `select ${TEAM}, ${name} as name from teams ${condition}`,
    values,
  });
  return rows.map(({ id, name, customerId, ...plan }) => ({ id, name, customerId, plan }));
}

export type NameSearch = {
  /** A part of the name, in upper or lower case. */
  readonly text: string;
  readonly afterId: number;
  /** How many teams are searched. */
  readonly lookedAt: number;
  readonly limit: number;
};

/** Teams with this name among the next ones after an id; and the last id that was searched. */
export async function searchTeamNames(
  query: Query,
  { text, afterId, lookedAt, limit }: NameSearch,
): Promise<{ ids: number[]; lastId: number | null }> {
  if (!(await hasTeamNames(query))) return { ids: [], lastId: null };
  const rows = await query<{ lastId: number | null; id: number | null }>({
    name: 'search_team_names',
    // No index of the application's finds a part of a name, so a range of the table is read.
    text: `
      with searched as materialized (
        select id, name::text as name
          from teams
         where id > $1::bigint
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
        from (select max(id) as id from searched) as last
        left join found on true
       order by found.id`,
    values: [afterId, lookedAt, text, limit],
  });
  return { ids: rows.flatMap(({ id }) => id ?? []), lastId: rows[0]?.lastId ?? null };
}
