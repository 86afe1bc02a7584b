import type { Query } from '../postgres/database.ts';
import { hasTeamNames } from './application-tables.ts';
import { type Team, type TeamRow, toTeam } from './teams.ts';

/** A team as a person knows it. */
export type NamedTeam = Team & {
  /** `null` where the application's table has no names. */
  readonly name: string | null;
};

type NamedTeamRow = TeamRow & { name: string | null };

/** Teams after this id, in the order of their ids. */
export async function readNamedTeams(
  query: Query,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<NamedTeam[]> {
  const rows = await query<NamedTeamRow>(
    `${await selectTeams(query)}
      where id > $1::bigint
      order by id
      limit $2`,
    [afterId, limit],
  );
  return rows.map(toNamedTeam);
}

/** The team of this id, or `null`. */
export async function readNamedTeam(query: Query, id: number): Promise<NamedTeam | null> {
  return (await readTeamsById(query, [id]))[0] ?? null;
}

/** These teams, in the order of their ids. */
export async function readTeamsById(query: Query, ids: readonly number[]): Promise<NamedTeam[]> {
  const rows = await query<NamedTeamRow>(
    `${await selectTeams(query)}
      where id = any ($1::bigint[])
      order by id`,
    [ids],
  );
  return rows.map(toNamedTeam);
}

/** The first teams of these customers, in the order of their ids. */
export async function readNamedTeamsOf(
  query: Query,
  customerIds: readonly string[],
  limit: number,
): Promise<NamedTeam[]> {
  const rows = await query<NamedTeamRow>(
    `${await selectTeams(query)}
      where provider_customer_id = any ($1::text[])
      order by id
      limit $2`,
    [customerIds, limit],
  );
  return rows.map(toNamedTeam);
}

export type NameSearch = {
  /** What the name holds, in capitals or not. */
  readonly text: string;
  readonly afterId: number;
  /** So many teams are looked at, and so many of them told. */
  readonly lookedAt: number;
  readonly limit: number;
};

/** Teams of this name among the next ones after an id; and the last id that was looked at. */
export async function searchTeamNames(
  query: Query,
  { text, afterId, lookedAt, limit }: NameSearch,
): Promise<{ ids: number[]; lastId: number | null }> {
  if (!(await hasTeamNames(query))) return { ids: [], lastId: null };
  // No index of the application's knows parts of names, so a stretch of the table is read.
  const rows = await query<{ last_id: number | null; id: number | null }>(
    `with looked_at as materialized (
       select id, name::text as name
         from teams
        where id > $1::bigint
        order by id
        limit $2
     ), found as (
       select id
         from looked_at
        where strpos(lower(name), lower($3)) > 0
        order by id
        limit $4
     )
     select last_id, found.id
       from (select max(id) as last_id from looked_at) as last
       left join found on true
      order by found.id`,
    [afterId, lookedAt, text, limit],
  );
  return { ids: rows.flatMap(({ id }) => id ?? []), lastId: rows[0]?.last_id ?? null };
}

/** The contract's columns, and the name where the application's table or view has one. */
async function selectTeams(query: Query): Promise<string> {
  const name = (await hasTeamNames(query)) ? 'name::text' : 'null::text';
  return `
    select id,
           provider_customer_id,
           provider_subscription_id,
           provider_product_id,
           plan_name,
           subscription_status,
           ${name} as name
      from teams`;
}

function toNamedTeam(row: NamedTeamRow): NamedTeam {
  return { ...toTeam(row), name: row.name };
}
