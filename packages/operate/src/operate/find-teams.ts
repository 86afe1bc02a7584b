// Finds teams by a filter, in the order of their ids, without reading all of a large table. The console's list and search call
// it, `instep team list`, and actions.ts for the team that a text means.

import {
  type ApplicationId,
  type ApplicationTables,
  idFrom,
  isAfter,
  readCustomerIdsOf,
} from 'instep-engine/postgres';
import { STATUSES } from 'instep-engine/rule';
import {
  type Direction,
  EXAMINED,
  type ExaminedTo,
  type Search,
  searchOf,
} from '../runtime/pages.ts';
import {
  exactTeams,
  HAS_LOST_PLAN,
  IS_DUE,
  JOIN_STATE,
  type NamedTeam,
  namedTeam,
  readExactTeams,
  readNamedTeamsOf,
  readTeamsWithName,
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
  /**
   * A status of Stripe's, also `past_due`, which a team's row never has; `none`: it never had a subscription; `other`: a status of
   * the application's own.
   */
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
  { text, status, plan }: TeamFilter = {},
): Search<NamedTeam, ApplicationId> {
  const filter = [text === undefined ? null : searchedText(text), status ?? null, plan ?? null];
  return searchOf<NamedTeam & ExaminedTo<ApplicationId>, NamedTeam, ApplicationId>(query, {
    name: 'find_teams',
    text: FIND_TEAMS,
    values: ({ from, limit }) => [from === null ? null : String(from), limit, ...filter],
    keyOf: ({ id }) => id,
    complete: (rows) => rows.map(({ examinedTo: _, ...team }) => team),
  });
}

/** SQL: a team's status, as text, because the column can have a type of the application's own. */
const TEAM_STATUS = `
             case
               when teams.subscription_status is null then 'none'
               when teams.subscription_status::text in (${Object.keys(STATUSES)
                 .map((name) => `'${name}'`)
                 .join(', ')})
                 then teams.subscription_status::text
               else 'other'
             end`;

/** The application has no index for names, plans or statuses. Only one of the two parts is read. */
const FIND_TEAMS = (tables: ApplicationTables, { beyond, order }: Direction) => {
  const { rows, id } = tables.teams;
  const from = idFrom(id.type, '$1::text');
  const isNext = beyond === '>' ? isAfter(id.type, '$1::text') : `id < (select ${from})`;
  return `
      with exact as materialized (
        ${exactTeams(tables, '$3')}
      ), examined as materialized (
        (select *
           from ${rows} as teams
          where id = any (array(select id from exact))
            and ${isNext})
         union all
        (select *
           from ${rows} as teams
          where not exists (select from exact)
            and ${isNext}
          order by id ${order}
          limit ${EXAMINED})
         order by id ${order}
      ), found as (
        select ${namedTeam(tables)}
          from examined as teams ${JOIN_STATE}
         where ($3::text is null
                or exists (select from exact)
                or strpos(lower(teams.name::text), lower($3)) > 0
                or starts_with(provider_customer_id, $3)
                or starts_with(provider_subscription_id, $3)
                or length($3) >= 4 and starts_with(teams.id::text, lower($3)))
           and ($4::text is null or ${TEAM_STATUS} = $4 or state.access_status = $4 and ${IS_DUE})
           and ($5::text is null
                or $5 in (teams.plan_name::text, teams.provider_product_id::text)
                or $5 in (access_plan_name, access_product_id) and ${HAS_LOST_PLAN})
         order by id ${order}
         limit $2
      )
      select found.*,
             (select id from examined order by id ${order} offset ${EXAMINED - 1}) as "examinedTo"
        from (select) as once
        left join found on true
       order by found.id ${order}`;
};

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
  const exact = await readExactTeams(query, text, MAX_CANDIDATES);
  const named = exact.length > 0 ? exact : await readTeamsWithName(query, text, MAX_CANDIDATES);
  const [team, ...others] = named;
  if (team !== undefined && others.length === 0) return team;
  const { rows: similar } = await findTeams(context, { text }).page({ limit: MAX_CANDIDATES });
  const found = named.length > 0 ? named : similar;
  if (found.length === 0) return { code: 'no-such-team', text };
  const candidates = found.map(({ id, name, plan }) => {
    return { id, name, planName: plan.planName ?? null };
  });
  return { code: 'several-teams', text, candidates };
}
