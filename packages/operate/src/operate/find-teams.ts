// Finds teams by a filter, in the order of their ids, without reading all of a large table. The console's list and search call
// it, `instep team list`, and actions.ts for the team that a text means.

import {
  type ApplicationId,
  type ApplicationTables,
  type Examined,
  idFrom,
  isAfter,
  type Query,
  readCustomerIdsOf,
} from 'instep-engine/postgres';
import { TEAM_STATUS } from '../issues/team-counts.ts';
import { type Part, type Search, searchOf } from '../runtime/pages.ts';
import {
  JOIN_LOST_PLAN,
  type NamedTeam,
  namedTeam,
  readNamedTeam,
  readNamedTeamsOf,
  readTeamsWithName,
  teamsOfEmails,
} from '../teams/named-teams.ts';
import type { ActionResult } from './audit.ts';
import type { ReadContext } from './context.ts';

/** A team must match every given member. */
export type TeamFilter = {
  /**
   * The team's id, a customer, a subscription or a person's whole email address: if a team has this, it is found. Otherwise a
   * part of the name, in upper or lower case, or the beginning of the id of a customer, a subscription or a team.
   */
  readonly text?: string | undefined;
  readonly status?: string | undefined;
  /** The name of a plan that the team has or had, or the id of its product. */
  readonly plan?: string | undefined;
};

/**
 * The teams that match a filter, in the order of their ids. A page of a large table takes several calls: it continues at
 * `searchedTo`. An email address finds a team only if a table says which users belong to which teams.
 *
 * @example
 * ```ts
 * const { rows, next } = await findTeams(context, { text: 'acme' }).page({ limit: 10 });
 * console.log(rows.length, next); // 0 null
 * for await (const { id, plan } of findTeams(context, { status: 'unpaid' }).all()) {
 *   console.log(id, plan.subscriptionStatus);
 * }
 * ```
 */
export function findTeams(
  { database: { query } }: ReadContext,
  filter: TeamFilter = {},
): Search<NamedTeam, ApplicationId> {
  const text = filter.text === undefined ? undefined : searchedText(filter.text);
  let exact: Promise<readonly string[]> | undefined;
  return searchOf({
    keyOf: ({ id }) => id,
    async read(part) {
      exact ??= text === undefined ? Promise.resolve([]) : readExactIds(query, text);
      return await listTeams(query, { ...filter, text, exactIds: await exact }, part);
    },
  });
}

/** An id in an address of Stripe's dashboard. */
const ID_IN_URL = /^https:\/\/dashboard\.stripe\.com\/\S*\b((?:cus|sub|evt)_\w+)/;

/**
 * What an entered text searches for: an id can come from an address of Stripe's dashboard, or begin with `#`.
 *
 * @example
 * ```ts
 * console.log(searchedText('#2144')); // 2144
 * ```
 */
export function searchedText(entered: string): string {
  return ID_IN_URL.exec(entered)?.[1] ?? entered.replace(/^#(?=\w)/, '');
}

const READ_EXACT_IDS = (tables: ApplicationTables) => `
      select id::text as id
        from ${tables.teams.rows} as teams
       where id = ${idFrom(tables.teams.idType, '$1')}
          or provider_customer_id = any ($1::text || array(
               select customer_id
                 from instep.customers
                where subscription_ids @> array[$1]
             ))
          or id = any (array(select team_id from (${teamsOfEmails(tables, '$2')}) as member))
       limit 1000`;

/** The teams that have exactly this id, customer, subscription or person. */
async function readExactIds(query: Query, text: string): Promise<readonly string[]> {
  const statement = {
    name: 'read_exact_teams',
    text: READ_EXACT_IDS,
    values: [text, text.includes('@') ? [text, text.toLowerCase()] : []],
  };
  return (await query<{ id: string }>(statement)).map(({ id }) => id);
}

type Wanted = TeamFilter & {
  /** If there are some, only these. */
  readonly exactIds: readonly string[];
};

async function listTeams(
  query: Query,
  { text, status, plan, exactIds }: Wanted,
  { from, isBackwards, limit }: Part<ApplicationId>,
): Promise<Examined<NamedTeam>> {
  const isExact = exactIds.length > 0;
  type Row = { examinedTo: ApplicationId | null } & (NamedTeam | { id: null });
  const rows = await query<Row>({
    name: 'list_teams',
    text: (tables) => listText(tables, isExact, isBackwards),
    values: [limit, from, isExact ? exactIds : text, status, plan].map((value) => value ?? null),
  });
  return {
    found: rows.flatMap(({ examinedTo: _, ...team }) => (team.id === null ? [] : team)),
    examinedTo: rows[0]?.examinedTo ?? null,
  };
}

/** How many teams one statement examines by their ids: the application has no index for names, plans or statuses. */
const EXAMINED = 5_000;

/** The beginning of a UUID that is none of a word. */
const MIN_UUID_PREFIX = 4;

function listText(tables: ApplicationTables, isExact: boolean, isBackwards: boolean): string {
  const { rows, idType } = tables.teams;
  const isBeyond = isBackwards
    ? `id < (select ${idFrom(idType, '$2::text')})`
    : isAfter(idType, '$2::text');
  const direction = isBackwards ? 'desc' : 'asc';
  const exact = `array(select ${idFrom(idType, 'exact.id')} from unnest($3::text[]) as exact (id))`;
  return `
      with examined as materialized (
        select *
          from ${rows} as teams
         where ${isBeyond}
           ${isExact ? `and id = any (${exact})` : ''}
         order by id ${direction}
         limit ${EXAMINED}
      ), found as (
        select ${namedTeam(tables)}
          from examined as teams ${JOIN_LOST_PLAN}
         where ${isExact ? 'true' : hasText(tables)}
           and ($4::text is null or ${TEAM_STATUS} = $4)
           and ($5::text is null
                or coalesce(teams.plan_name::text, lost_plan_name) = $5
                or coalesce(teams.provider_product_id::text, lost_product_id) = $5)
         order by id ${direction}
         limit $1
      )
      select (select id from examined order by id ${direction} offset ${EXAMINED - 1}) as "examinedTo",
             found.*
        from (select) as once
        left join found on true
       order by found.id ${direction}`;
}

/** SQL: whether a team has the text `$3`. */
function hasText({ teams: { idType } }: ApplicationTables): string {
  const hasId = `length($3) >= ${MIN_UUID_PREFIX} and starts_with(teams.id::text, lower($3))`;
  return `($3::text is null
                or strpos(lower(teams.name::text), lower($3)) > 0
                or starts_with(provider_customer_id, $3)
                or starts_with(provider_subscription_id, $3)
                or ${idType === 'uuid' ? hasId : 'false'})`;
}

/** Customers, and the teams that have one of them. */
export type FoundCustomers = {
  readonly customerIds: readonly string[];
  readonly teams: readonly NamedTeam[];
};

/**
 * Finds the customer with an id, which is returned whether it is known or not, and the customers of the subscription
 * with this id, with their teams.
 *
 * @example
 * ```ts
 * const { customerIds, teams } = await findCustomers(context, 'sub_123');
 * console.log(customerIds, teams.length); // [ 'sub_123' ] 0
 * ```
 */
export async function findCustomers(
  { database: { query } }: ReadContext,
  id: string,
  limit = 50,
): Promise<FoundCustomers> {
  const customerIds = [id, ...(await readCustomerIdsOf(query, id, limit))];
  return { customerIds, teams: await readNamedTeamsOf(query, customerIds, limit) };
}

/**
 * The team with this id; `null` when there is none.
 *
 * @example
 * ```ts
 * console.log(await readTeam(context, 7)); // null
 * ```
 */
export async function readTeam(
  { database: { query } }: ReadContext,
  id: ApplicationId,
): Promise<NamedTeam | null> {
  return await readNamedTeam(query, id);
}

/** How many teams are offered for a text that is neither an id nor a name. */
const MAX_CANDIDATES = 5;

/**
 * The team with this id, the only one with exactly this name, or the only one of the person with this email address. For
 * any other text, the teams that it can mean.
 *
 * @example
 * ```ts
 * const team = await teamNamed(context, '#2144');
 * console.log('code' in team ? team.code : team.name); // no-such-team
 * ```
 */
export async function teamNamed(
  context: ReadContext,
  entered: string,
): Promise<NamedTeam | Extract<ActionResult, { code: 'no-such-team' | 'several-teams' }>> {
  const { query } = context.database;
  const text = searchedText(entered);
  if (text === '') return { code: 'no-such-team', text };
  const ids = await readExactIds(query, text);
  const named = ids.length > 0 ? [] : await readTeamsWithName(query, text, MAX_CANDIDATES);
  const found =
    named.length > 0
      ? named
      : (await findTeams(context, { text }).page({ limit: MAX_CANDIDATES })).rows;
  const [team, ...others] = found;
  if (team === undefined) return { code: 'no-such-team', text };
  if (others.length === 0 && ids.length + named.length > 0) return team;
  const candidates = found.map(({ id, name, plan }) => {
    return { id, name, planName: plan.planName ?? null };
  });
  return { code: 'several-teams', text, candidates };
}
